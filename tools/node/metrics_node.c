/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Whether the node is well and ready, for probers. */
#include "../base/stop.h"
#include "lnet_node.h"
#include "metrics.h"

/* Does the node's thread answer? If not, this one waits, and the prober gives up. */
static const char *sick_why(void *arg)
{
	static const char           stopping[] = "the node is stopping\n";
	struct lnet_node           *node = arg;
	struct metrics             *metrics = &node->lno_metrics;
	struct m0_lnet_routing_info info;

	if (node->lno_lnet == NULL)
		return stopping;
	if (metrics_verdict_is_fresh(&metrics->mtr_answers))
		return metrics->mtr_answers.mvd_why;
	return metrics_verdict_note(
		&metrics->mtr_answers,
		m0_lnet_routing_get(node->lno_lnet, &info) != 0 ? stopping
								: NULL);
}

static const char *link_why(struct m0_lnet *lnet)
{
	struct m0_lnet_info *info;
	const char          *why = "no interface is up\n";
	unsigned             i;

	if (m0_lnet_info_head_get(lnet, &info) != 0)
		return "the node does not answer\n";
	for (i = 0; i < info->li_nis_nr; ++i)
		if (!m0_lnet_nid_is_lo(&info->li_nis[i].nii_nid) &&
		    info->li_nis[i].nii_link_up)
			why = NULL;
	m0_lnet_info_free(info);
	return why;
}

/* Does the node serve peers and processes now? */
static const char *unready_why(void *arg)
{
	struct lnet_node       *node = arg;
	struct metrics_verdict *link = &node->lno_metrics.mtr_link;

	if (stop_signal() != 0 || node->lno_lnet == NULL)
		return "the node is stopping\n";
	if (node->lno_drain.ndr_on)
		return "the node is draining\n";
	return metrics_verdict_is_fresh(link)
		       ? link->mvd_why
		       : metrics_verdict_note(link, link_why(node->lno_lnet));
}

static char *take(void *arg, size_t *ret_nr)
{
	return metrics_take(arg, ret_nr);
}

void metrics_source_init(struct lnet_node *node)
{
	node->lno_metrics.mtr_source = (struct metrics_source){
		.mrc_arg = node,
		.mrc_take = take,
		.mrc_sick = sick_why,
		.mrc_unready = unready_why,
	};
}
