/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Connections of the rig that the driver dials, opened. */
#include "rig.h"

void rig_answer(struct rig *rig, struct rig_stream *stream, uint32_t version,
		uint32_t ctype)
{
	uint8_t buf[M0_SOCK_HELLO_BYTES_MAX];
	size_t  nr = rig_put_hello(buf, version,
                                  rig->rg_ni.ldn_nid.ln_size == 0 ? &rig_b
								   : &rig_b6,
				   RIG_INCARNATION_B, ctype);

	(void)rig_feed(rig, stream, buf, nr);
	rig_run(rig);
}

struct rig_stream *rig_open_next(struct rig *rig)
{
	struct rig_stream   *stream = rig_dial(rig);
	struct m0_sock_hello hello;

	assert_non_null(stream);
	hello = rig_dialled(rig, stream);
	rig_answer(rig, stream, hello.sh_version,
		   m0_sock__ctype_invert(hello.sh_ctype));
	assert_false(stream->rs_hung);
	return stream;
}

void rig_open_set(struct rig *rig, struct rig_stream *streams[3])
{
	unsigned i;

	for (i = 0; i < 3; ++i)
		streams[i] = rig_open_next(rig);
	assert_null(rig_dial(rig));
}
