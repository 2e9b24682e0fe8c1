/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Raw ends: connections of the test's own, byte by byte. */
#include <stdlib.h>

#include "sim/net/sim_net_internal.h"

enum {
	READ_BYTES = 64 * 1024
};

static struct m0_sim_raw *raw_new(struct sim_end *end)
{
	struct sim_net    *net = m0_sim__net();
	struct m0_sim_raw *raw = m0_sim__realloc(NULL, 1, sizeof *raw);

	*raw = (struct m0_sim_raw){
		.smr_end = end,
		.smr_remote = end->sie_wire->siw_end[1 - end->sie_nr].sie_addr,
		.smr_next = net->sin_raws,
	};
	net->sin_raws = raw;
	end->sie_owner = SIM_OWNER_RAW;
	end->sie_raw = raw;
	return raw;
}

static struct sim_end *raw_end(const struct m0_sim_raw *raw)
{
	return raw->smr_end;
}

static m0_time_t raw_now(void)
{
	return m0_sim_now(m0_sim__net()->sin_sim);
}

/* Detach from the wire; the bytes received so far stay readable. */
static void raw_leave(struct m0_sim_raw *raw, bool reset)
{
	struct sim_end *end = raw_end(raw);

	if (end == NULL)
		return;
	raw->smr_end = NULL;
	m0_sim__end_leave(end, reset);
}

static void raw_broken(struct m0_sim_raw *raw, int status)
{
	if (raw->smr_state != M0_SIM_RAW_BROKEN) {
		raw->smr_state = M0_SIM_RAW_BROKEN;
		raw->smr_status = status;
		raw->smr_ended_at = raw_now();
		raw->smr_out_nr = 0;
	}
	raw_leave(raw, true);
}

static void raw_flush(struct m0_sim_raw *raw)
{
	struct sim_end *end = raw_end(raw);
	struct iovec    iov = { .iov_base = raw->smr_out,
				.iov_len = raw->smr_out_nr };
	ssize_t         rc;

	if (end == NULL || raw->smr_out_nr == 0 ||
	    raw->smr_state == M0_SIM_RAW_DIALLING)
		return;
	rc = m0_sim_stream_write(m0_sim__stream(end), end->sie_nr, &iov, 1);
	if (rc == -EPIPE) {
		raw->smr_out_nr = 0;
		return;
	}
	if (rc < 0) {
		raw_broken(raw, (int)rc);
		return;
	}
	raw->smr_out_nr -= (size_t)rc;
	if (raw->smr_out_nr > 0)
		memmove(raw->smr_out, raw->smr_out + rc, raw->smr_out_nr);
	else if (raw->smr_close_after)
		m0_sim_stream_shut(m0_sim__stream(end), end->sie_nr);
}

/* Read all that is there; return true if something has changed. */
static bool raw_read(struct m0_sim_raw *raw)
{
	struct sim_end *end;
	bool            changed = false;
	ssize_t         rc;

	while ((end = raw_end(raw)) != NULL && !raw->smr_is_mute &&
	       m0_sim_stream_is_readable(m0_sim__stream(end), end->sie_nr)) {
		if (raw->smr_in_max - raw->smr_in_nr < READ_BYTES) {
			raw->smr_in_max = 2 * raw->smr_in_max + READ_BYTES;
			raw->smr_in = m0_sim__realloc(raw->smr_in,
						      raw->smr_in_max, 1);
		}
		rc = m0_sim_stream_read(m0_sim__stream(end), end->sie_nr,
					raw->smr_in + raw->smr_in_nr,
					READ_BYTES);
		if (rc == -EAGAIN)
			break;
		if (rc < 0) {
			raw_broken(raw, (int)rc);
			return true;
		}
		if (rc == 0) {
			changed = changed || raw->smr_state != M0_SIM_RAW_EOF;
			if (raw->smr_state != M0_SIM_RAW_EOF)
				raw->smr_ended_at = raw_now();
			raw->smr_state = M0_SIM_RAW_EOF;
			break;
		}
		raw->smr_in_nr += (size_t)rc;
		raw->smr_in_at = raw_now();
		changed = true;
	}
	return changed;
}

void m0_sim__raw_notice(struct sim_end *end)
{
	struct m0_sim_raw *raw = end->sie_raw;
	bool               changed = false;

	if (!end->sie_is_dialled)
		return;
	if (raw->smr_state == M0_SIM_RAW_DIALLING) {
		changed = true;
		if (end->sie_dial_rc != 0)
			raw_broken(raw, end->sie_dial_rc);
		else
			raw->smr_state = M0_SIM_RAW_CONNECTED;
	}
	raw_flush(raw);
	if (raw_read(raw) || changed)
		if (raw->smr_input != NULL)
			raw->smr_input(raw);
}

void m0_sim__raw_accepted(struct sim_listener *listener, struct sim_end *end)
{
	struct m0_sim_raw *raw = raw_new(end);

	raw->smr_state = M0_SIM_RAW_CONNECTED;
	listener->sil_accepted(raw, listener->sil_arg);
}

struct m0_sim_raw *m0_sim_raw_dial(const char *from, uint16_t from_port,
				   const char *to, uint16_t to_port)
{
	struct m0_host_addr from_addr = m0_sim_addr(from, from_port);
	struct m0_host_addr to_addr = m0_sim_addr(to, to_port);
	struct sim_end     *end;
	int                 rc;

	rc = m0_sim__dial(&from_addr, from_port, from_port, &to_addr, &end);
	if (rc != 0)
		m0_sim_fail(m0_sim__net()->sin_sim, "%s port %u: error %d",
			    from, from_port, -rc);
	return raw_new(end);
}

void m0_sim_raw_listen(const char *at, uint16_t port,
		       void (*accepted)(struct m0_sim_raw *raw, void *arg),
		       void *arg)
{
	struct m0_host_addr  addr = m0_sim_addr(at, port);
	struct sim_listener *listener = m0_sim__listener_at(&addr);
	int                  rc;

	if (accepted == NULL) {
		M0_PRE(listener != NULL && listener->sil_io == NULL);
		m0_sim__listener_del(listener);
		free(listener);
		return;
	}
	listener = m0_sim__realloc(NULL, 1, sizeof *listener);
	*listener = (struct sim_listener){ .sil_accepted = accepted,
					   .sil_arg = arg };
	rc = m0_sim__listener_add(listener, &addr);
	if (rc != 0)
		m0_sim_fail(m0_sim__net()->sin_sim, "%s port %u: error %d", at,
			    port, -rc);
}

void m0_sim_raw_send(struct m0_sim_raw *raw, const void *bytes, size_t nr)
{
	if (raw_end(raw) == NULL || raw->smr_close_after || nr == 0)
		return;
	if (raw->smr_out_max - raw->smr_out_nr < nr) {
		raw->smr_out_max = 2 * raw->smr_out_max + nr;
		raw->smr_out =
			m0_sim__realloc(raw->smr_out, raw->smr_out_max, 1);
	}
	memcpy(raw->smr_out + raw->smr_out_nr, bytes, nr);
	raw->smr_out_nr += nr;
	raw_flush(raw);
}

size_t m0_sim_raw_pending(const struct m0_sim_raw *raw)
{
	return raw->smr_out_nr;
}

void m0_sim_raw_mute(struct m0_sim_raw *raw, bool mute)
{
	raw->smr_is_mute = mute;
	if (!mute && raw_end(raw) != NULL)
		m0_sim__raw_notice(raw_end(raw));
}

void m0_sim_raw_shut(struct m0_sim_raw *raw)
{
	struct sim_end *end = raw_end(raw);

	raw->smr_close_after = true;
	if (end != NULL && raw->smr_out_nr == 0 &&
	    raw->smr_state != M0_SIM_RAW_DIALLING)
		m0_sim_stream_shut(m0_sim__stream(end), end->sie_nr);
}

void m0_sim_raw_close(struct m0_sim_raw *raw)
{
	raw_leave(raw, false);
}

void m0_sim_raw_reset(struct m0_sim_raw *raw)
{
	raw_leave(raw, true);
}

void m0_sim_raw_free(struct m0_sim_raw *raw)
{
	struct m0_sim_raw **at = &m0_sim__net()->sin_raws;

	m0_sim_raw_close(raw);
	while (*at != raw)
		at = &(*at)->smr_next;
	*at = raw->smr_next;
	free(raw->smr_in);
	free(raw->smr_out);
	free(raw);
}

void m0_sim__raws_free(struct sim_net *net)
{
	struct m0_sim_raw *raw;
	struct m0_sim_raw *next;

	for (raw = net->sin_raws; raw != NULL; raw = next) {
		next = raw->smr_next;
		m0_sim_raw_free(raw);
	}
}
