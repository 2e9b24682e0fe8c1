/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "pcapng.h"

enum {
	ORDER_MAGIC = 0x1a2b3c4d,
	ALIGN = 4,
	BITS_32 = 32,
	BITS_8 = 8,
	/* Options. */
	OPT_END = 0,
	OPT_COMMENT = 1,
	SHB_APPLICATION = 4,
	IDB_NAME = 2,
	IDB_DESCRIPTION = 3,
	IDB_TIME_UNIT = 9,
	EPB_FLAGS = 2,
	EPB_LOST = 4,
	ISB_RECEIVED = 4,
	ISB_LOST = 7,
	NANOSECONDS = 9,
	/* Values of EPB_FLAGS. */
	INBOUND = 1,
	OUTBOUND = 2,
	/* Tags of the link type. */
	TAG_END = 0,
	TAG_DISSECTOR = 12,
	/* The front, which precedes the header of the message. */
	FRONT_VERSION = 1,
	FRONT_BYTES = 44,
	FRONT_LEAVES = 1,
	FRONT_LARGE = 2,
	FRONT_DROPPED = 4,
	FRONT_PARTIAL = 8,
	HEAD_LARGE_BYTES = 96,
	/* Bytes of a statistics block before its options. */
	ISB_FIXED_BYTES = 20
};

static const char dissector[] = "m0capture";

static void raw_put(struct pcapng *png, const void *bytes, size_t nr)
{
	M0_PRE(nr <= png->pcn_max - png->pcn_nr);
	/* The end of options has no value. */
	if (nr > 0)
		memcpy(png->pcn_buf + png->pcn_nr, bytes, nr);
	png->pcn_nr += nr;
}

static void u16_put(struct pcapng *png, uint16_t value)
{
	raw_put(png, &value, sizeof value);
}

static void u32_put(struct pcapng *png, uint32_t value)
{
	raw_put(png, &value, sizeof value);
}

/* A time, high half first. */
static void time_put(struct pcapng *png, uint64_t ns)
{
	u32_put(png, (uint32_t)(ns >> BITS_32));
	u32_put(png, (uint32_t)ns);
}

static void pad_put(struct pcapng *png, size_t nr)
{
	static const char zeros[ALIGN];

	raw_put(png, zeros, (ALIGN - nr % ALIGN) % ALIGN);
}

static void option_put(struct pcapng *png, uint16_t code, const void *value,
		       size_t nr)
{
	u16_put(png, code);
	u16_put(png, (uint16_t)nr);
	raw_put(png, value, nr);
	pad_put(png, nr);
}

static void text_put(struct pcapng *png, uint16_t code, const char *text)
{
	if (text[0] != '\0')
		option_put(png, code, text, strlen(text));
}

static void count_put(struct pcapng *png, uint16_t code, uint64_t value)
{
	option_put(png, code, &value, sizeof value);
}

/* @return where the block begins. */
static size_t block_begin(struct pcapng *png, uint32_t type)
{
	size_t at = png->pcn_nr;

	u32_put(png, type);
	u32_put(png, 0);
	return at;
}

static void block_end(struct pcapng *png, size_t at)
{
	uint32_t bytes = (uint32_t)(png->pcn_nr - at + sizeof bytes);

	M0_PRE(bytes % ALIGN == 0);
	u32_put(png, bytes);
	memcpy(png->pcn_buf + at + sizeof bytes, &bytes, sizeof bytes);
}

void pcapng_section(struct pcapng *png, const char *application)
{
	size_t at = block_begin(png, PCAPNG_SECTION);

	u32_put(png, ORDER_MAGIC);
	u16_put(png, 1);
	u16_put(png, 0);
	/* The length of the section is not known. */
	u32_put(png, UINT32_MAX);
	u32_put(png, UINT32_MAX);
	text_put(png, SHB_APPLICATION, application);
	option_put(png, OPT_END, NULL, 0);
	block_end(png, at);
}

void pcapng_interface(struct pcapng *png, const char *name, const char *device,
		      uint32_t snap)
{
	const uint8_t unit = NANOSECONDS;
	size_t        at = block_begin(png, PCAPNG_INTERFACE);

	u16_put(png, PCAPNG_LINKTYPE);
	u16_put(png, 0);
	u32_put(png, snap + PCAPNG_SMALL_BYTES);
	text_put(png, IDB_NAME, name);
	text_put(png, IDB_DESCRIPTION, device);
	option_put(png, IDB_TIME_UNIT, &unit, sizeof unit);
	option_put(png, OPT_END, NULL, 0);
	block_end(png, at);
}

/* A tag of the link type: its numbers have the high byte first. */
static void tag_put(struct pcapng *png, unsigned tag, const char *value,
		    size_t nr)
{
	const uint8_t head[] = { (uint8_t)(tag >> BITS_8), (uint8_t)tag,
				 (uint8_t)(nr >> BITS_8), (uint8_t)nr };

	raw_put(png, head, sizeof head);
	raw_put(png, value, nr);
}

/* A NID as in headers of 96 bytes. */
static void nid_put(struct pcapng *png, const struct m0_lnet_nid *nid)
{
	const uint8_t head[] = { nid->ln_size, nid->ln_type,
				 (uint8_t)(nid->ln_num >> BITS_8),
				 (uint8_t)nid->ln_num };

	raw_put(png, head, sizeof head);
	raw_put(png, nid->ln_addr, sizeof nid->ln_addr);
}

/* Tags, and what stands before the header of the message. */
static void front_put(struct pcapng *png, const struct capture_msg *msg)
{
	/* Length of a tag is one of whole words. */
	char    name[(sizeof dissector + ALIGN - 1) / ALIGN * ALIGN] = "";
	size_t  why_nr = strlen(msg->cqm_why);
	uint8_t flags = 0;
	uint8_t head[4] = { FRONT_VERSION };

	memcpy(name, dissector, sizeof dissector);
	tag_put(png, TAG_DISSECTOR, name, sizeof name);
	tag_put(png, TAG_END, NULL, 0);
	flags |= msg->cqm_leaves ? FRONT_LEAVES : 0;
	flags |= msg->cqm_head_bytes == HEAD_LARGE_BYTES ? FRONT_LARGE : 0;
	flags |= why_nr > 0 ? FRONT_DROPPED : 0;
	flags |= msg->cqm_status != 0 ? FRONT_PARTIAL : 0;
	head[1] = flags;
	head[2] = (uint8_t)(FRONT_BYTES + (why_nr + ALIGN - 1) / ALIGN * ALIGN);
	raw_put(png, head, sizeof head);
	nid_put(png, &msg->cqm_local);
	nid_put(png, &msg->cqm_hop);
	raw_put(png, msg->cqm_why, why_nr);
	pad_put(png, why_nr);
}

void pcapng_packet(struct pcapng *png, uint32_t interface,
		   const struct capture_msg *msg)
{
	const uint32_t flags = msg->cqm_leaves ? OUTBOUND : INBOUND;
	size_t         at = block_begin(png, PCAPNG_PACKET);
	size_t         sizes_at;
	size_t         data_at;
	uint32_t       sizes[2];

	u32_put(png, interface);
	time_put(png, msg->cqm_time_ns);
	sizes_at = png->pcn_nr;
	u32_put(png, 0);
	u32_put(png, 0);
	data_at = png->pcn_nr;
	front_put(png, msg);
	raw_put(png, msg + 1, msg->cqm_bytes);
	sizes[0] = (uint32_t)(png->pcn_nr - data_at);
	sizes[1] = sizes[0] - msg->cqm_bytes + msg->cqm_head_bytes +
		   msg->cqm_payload_bytes;
	memcpy(png->pcn_buf + sizes_at, sizes, sizeof sizes);
	pad_put(png, sizes[0]);
	option_put(png, EPB_FLAGS, &flags, sizeof flags);
	if (msg->cqm_lost_nr > 0)
		count_put(png, EPB_LOST, msg->cqm_lost_nr);
	option_put(png, OPT_END, NULL, 0);
	block_end(png, at);
}

void pcapng_statistics(struct pcapng *png, uint32_t interface, uint64_t time_ns,
		       uint64_t packets_nr, uint64_t lost_nr)
{
	size_t at = block_begin(png, PCAPNG_STATISTICS);

	u32_put(png, interface);
	time_put(png, time_ns);
	count_put(png, ISB_RECEIVED, packets_nr);
	count_put(png, ISB_LOST, lost_nr);
	option_put(png, OPT_END, NULL, 0);
	block_end(png, at);
}

/* ------------------------------------------------------------------- reading -- */

static uint32_t u32_at(const char *bytes)
{
	uint32_t value;

	memcpy(&value, bytes, sizeof value);
	return value;
}

/* Returns the number of lost messages that a statistics block has. */
static uint64_t lost_of(const char *bytes, size_t nr)
{
	size_t   at = ISB_FIXED_BYTES;
	uint64_t lost = 0;

	while (at + 4 <= nr - 4) {
		uint16_t head[2];

		memcpy(head, bytes + at, sizeof head);
		at += sizeof head;
		if (head[0] == OPT_END || head[1] > nr - 4 - at)
			break;
		if (head[0] == ISB_LOST && head[1] == sizeof lost)
			memcpy(&lost, bytes + at, sizeof lost);
		at += (head[1] + ALIGN - 1U) / ALIGN * ALIGN;
	}
	return lost;
}

int pcapng_read(struct pcapng_block *ret, const char *bytes, size_t nr)
{
	uint32_t size;

	if (nr < PCAPNG_HEAD_BYTES)
		return 0;
	M0_SET0(ret);
	ret->pcb_type = u32_at(bytes);
	size = u32_at(bytes + 4);
	if (size < PCAPNG_HEAD_BYTES + 4 || size % ALIGN != 0 ||
	    size > PCAPNG_BLOCK_MAX)
		return -EPROTO;
	if (nr < size)
		return 0;
	if (u32_at(bytes + size - 4) != size)
		return -EPROTO;
	ret->pcb_bytes = size;
	if (ret->pcb_type == PCAPNG_STATISTICS && size >= ISB_FIXED_BYTES + 4)
		ret->pcb_lost_nr = lost_of(bytes, size);
	return 1;
}
