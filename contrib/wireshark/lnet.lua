-- SPDX-License-Identifier: Apache-2.0 OR MIT
-- Dissects LNet over TCP (Lustre's socket driver, ksocklnd, versions 1 to 4) and over InfiniBand
-- and RoCE (o2iblnd, version 0x12), packets of Colibri's RPC layer in it, and what
-- `colibri capture` writes. For Wireshark and tshark:
--
--   cp lnet.lua ~/.local/lib/wireshark/plugins/
--   tshark -X lua_script:lnet.lua -r FILE -Y 'm0lnet.type == "PUT" && m0lnet.portal == 40'
--
-- TCP port 988 is LNet's; on other ports a connection is found by its first bytes. One that
-- was recorded from the middle is decoded where a message begins a segment. Protocols:
-- ksocklnd (requests, hellos, frames), o2iblnd (requests to connect and their answers, messages),
-- m0capture (a message that a node recorded: interface, neighbour, direction, why it was
-- dropped), m0lnet (messages), m0rpc (packets and items). Payloads that are written to memory by
-- RDMA are not shown. Wireshark's own protocol lnet knows neither hellos nor versions 1 and 4;
-- this file takes its port and, being asked first, its messages of o2iblnd.

local ACCEPTOR, HELLO, HELLO_V1 = 0xacce7100, 0x45726963, 0xeebc0ded
local NOOP, LNET = 0xc0, 0xc1
local PING, RPC = 0x70696e67, 0x7072306d
local O2IB, O2IB_VERSION, O2IB_MAX = 0x0be91b91, 0x12, 4096
local FRAME, PAYLOAD_MAX = 24, 64 * 1024 * 1024
local ITEMS_MAX, PING_MAX = 65536, 4096

local nets = { [2] = "tcp", [5] = "o2ib", [9] = "lo", [13] = "gni", [14] = "gip",
  [15] = "ptlf", [16] = "kfi", [18] = "efa", [19] = "bxi3f" }
local ctypes = { [0] = "ANY", [1] = "CONTROL", [2] = "BULK_IN", [3] = "BULK_OUT",
  [0xffffffff] = "NONE" }
local types = { [0] = "ACK", [1] = "PUT", [2] = "GET", [3] = "REPLY", [4] = "HELLO" }
local frames = { [NOOP] = "NOOP", [LNET] = "LNET" }
-- Name of each type of o2iblnd, and the bytes that it has at least.
local o2ib_types = { [0xc0] = { "CONNREQ", 56 }, [0xc1] = { "CONNACK", 56 },
  [0xd0] = { "NOOP", 48 }, [0xd1] = { "IMMEDIATE", 120 }, [0xd2] = { "PUT_REQ", 128 },
  [0xd3] = { "PUT_NAK", 60 }, [0xd4] = { "PUT_ACK", 72 }, [0xd5] = { "PUT_DONE", 60 },
  [0xd6] = { "GET_REQ", 136 }, [0xd7] = { "GET_DONE", 60 } }
local reasons = { "CONN_RACE", "NO_RESOURCES", "FATAL", "CONN_UNCOMPAT", "CONN_STALE",
  "RDMA_FRAGS", "MSG_QUEUE_SIZE", "INVALID_SRV_ID", "EARLY" }
local features = { "BASE", "NI_STATUS", "RTE_DISABLED", "MULTI_RAIL", "DISCOVERY",
  "LARGE_ADDR", "PRIMARY_LARGE", "METADATA" }
local opcodes = { "CONN_ESTABLISH", "CONN_ESTABLISH_REPLY", "CONN_TERMINATE",
  "CONN_TERMINATE_REPLY", "SESSION_ESTABLISH", "SESSION_ESTABLISH_REPLY",
  "SESSION_TERMINATE", "SESSION_TERMINATE_REPLY", "CANCEL", "ACK", "SKIP", "STATUS",
  "PING", "PING_REPLY", "REFUSED" }
local item_flags = { "REQUEST", "REPLY", "ONEWAY", "DUP", "CANCEL", "SKIP", "ACK" }

local ksock = Proto("ksocklnd", "LNet socket driver")
local o2ib = Proto("o2iblnd", "LNet driver for InfiniBand and RoCE")
local capture = Proto("m0capture", "LNet message, recorded by a node")
local lnet = Proto("m0lnet", "LNet message")
local rpc = Proto("m0rpc", "Colibri RPC")

local function field(make, name, text, ...)
  return ProtoField[make](name, text, ...)
end

local f = {
  request = field("uint32", "ksocklnd.request", "Request to connect, version"),
  target = field("string", "ksocklnd.target", "Target NID"),
  hello = field("uint32", "ksocklnd.hello", "Hello, version"),
  source = field("string", "ksocklnd.source", "Source NID"),
  dest = field("string", "ksocklnd.dest", "Destination NID"),
  source_pid = field("uint32", "ksocklnd.source_pid", "Source PID"),
  incarnation = field("uint64", "ksocklnd.incarnation", "Incarnation", base.HEX),
  ctype = field("string", "ksocklnd.ctype", "Type of connection"),
  ips = field("uint32", "ksocklnd.ips", "Addresses"),
  frame = field("uint32", "ksocklnd.type", "Frame", base.HEX, frames),
  csum = field("uint32", "ksocklnd.csum", "Checksum", base.HEX),
  zcask = field("uint64", "ksocklnd.zc_request", "Zero-copy request cookie"),
  zcack = field("uint64", "ksocklnd.zc_ack", "Zero-copy answer cookie"),
}
ksock.fields = f

local b = {
  type = field("string", "o2iblnd.type", "Type"),
  credits = field("uint8", "o2iblnd.credits", "Credits returned"),
  bytes = field("uint32", "o2iblnd.bytes", "Bytes"),
  csum = field("uint32", "o2iblnd.csum", "Checksum", base.HEX),
  source = field("string", "o2iblnd.source", "Source NID"),
  source_stamp = field("uint64", "o2iblnd.source_stamp", "Source stamp", base.HEX),
  dest = field("string", "o2iblnd.dest", "Destination NID"),
  dest_stamp = field("uint64", "o2iblnd.dest_stamp", "Destination stamp", base.HEX),
  cookie = field("uint64", "o2iblnd.cookie", "Cookie", base.HEX),
  sink_cookie = field("uint64", "o2iblnd.sink_cookie", "Cookie of the sink", base.HEX),
  status = field("int32", "o2iblnd.status", "Status"),
  key = field("uint32", "o2iblnd.key", "Key of the memory", base.HEX),
  frags = field("uint32", "o2iblnd.fragments", "Fragments"),
  frag = field("uint32", "o2iblnd.fragment.bytes", "Fragment, bytes"),
  frag_addr = field("uint64", "o2iblnd.fragment.address", "Fragment, address", base.HEX),
  depth = field("uint16", "o2iblnd.queue_depth", "Queue depth"),
  frags_max = field("uint16", "o2iblnd.fragments_max", "Most fragments"),
  bytes_max = field("uint32", "o2iblnd.bytes_max", "Largest message"),
  reason = field("string", "o2iblnd.reason", "Reason of a rejection"),
}
o2ib.fields = b

local c = {
  direction = field("string", "m0capture.direction", "Direction"),
  near = field("string", "m0capture.local", "Interface of the node"),
  hop = field("string", "m0capture.hop", "Peer or router next to it"),
  dropped = field("string", "m0capture.dropped", "Dropped by the node"),
  partial = field("bool", "m0capture.partial", "The payload did not arrive whole"),
}
capture.fields = c

local m = {
  dest = field("string", "m0lnet.dest", "Destination NID"),
  source = field("string", "m0lnet.source", "Source NID"),
  dest_pid = field("uint32", "m0lnet.dest_pid", "Destination PID"),
  source_pid = field("uint32", "m0lnet.source_pid", "Source PID"),
  type = field("string", "m0lnet.type", "Type"),
  length = field("uint32", "m0lnet.payload_length", "Payload length"),
  bits = field("uint64", "m0lnet.match_bits", "Match bits", base.HEX),
  data = field("uint64", "m0lnet.hdr_data", "Header data", base.HEX),
  portal = field("uint32", "m0lnet.portal", "Portal"),
  machine = field("uint32", "m0lnet.machine", "Transfer machine"),
  from_portal = field("uint32", "m0lnet.sender_portal", "Sender's portal"),
  from_machine = field("uint32", "m0lnet.sender_machine", "Sender's transfer machine"),
  offset = field("uint32", "m0lnet.offset", "Offset"),
  sink = field("uint32", "m0lnet.sink_length", "Length wanted"),
  mlength = field("uint32", "m0lnet.mlength", "Length taken"),
  ack = field("bool", "m0lnet.ack_wanted", "Acknowledgement wanted"),
  handle = field("bytes", "m0lnet.handle", "Memory descriptor"),
  payload = field("bytes", "m0lnet.payload", "Payload"),
  features = field("string", "m0lnet.ping.features", "Ping features"),
  ping_pid = field("uint32", "m0lnet.ping.pid", "Ping PID"),
  sequence = field("uint32", "m0lnet.ping.sequence", "Ping sequence number"),
  ping_nid = field("string", "m0lnet.ping.nid", "Ping NID"),
}
lnet.fields = m

local r = {
  sum = field("uint32", "m0rpc.sum", "CRC-32C", base.HEX),
  version = field("uint16", "m0rpc.version", "Version"),
  bytes = field("uint32", "m0rpc.bytes", "Bytes"),
  lowest = field("uint16", "m0rpc.lowest", "Lowest version spoken"),
  highest = field("uint16", "m0rpc.highest", "Highest version spoken"),
  items = field("uint32", "m0rpc.items", "Items"),
  epoch = field("uint32", "m0rpc.epoch", "Epoch"),
  life = field("uint64", "m0rpc.life", "Life", base.HEX),
  sender = field("string", "m0rpc.sender", "Sender"),
  incarnation = field("uint64", "m0rpc.incarnation", "Incarnation", base.HEX),
  opcode = field("uint32", "m0rpc.opcode", "Opcode"),
  flags = field("string", "m0rpc.flags", "Flags"),
  size = field("uint32", "m0rpc.size", "Size"),
  stream = field("uint32", "m0rpc.stream", "Stream"),
  session = field("uint64", "m0rpc.session", "Session"),
  xid = field("uint64", "m0rpc.xid", "Number"),
  ackd = field("uint64", "m0rpc.ack", "Answered below"),
  remaining = field("uint32", "m0rpc.remaining", "Milliseconds left"),
  status = field("int32", "m0rpc.status", "Status"),
  body = field("bytes", "m0rpc.body", "Body"),
}
rpc.fields = r

local malformed = ProtoExpert.new("ksocklnd.malformed", "Malformed", expert.group.MALFORMED,
  expert.severity.ERROR)
ksock.experts = { malformed }

-- ---------------------------------------------------------------- texts -----

local function net_text(kind, number)
  if not nets[kind] then return string.format("<%d:%d>", kind, number) end
  return nets[kind] .. (number ~= 0 and number or "")
end

local function address_text(size, kind, number, at)
  if kind == 0xff then return "<?>" end
  local addr
  if size == 12 then
    addr = tostring(at(0, 16):ipv6())
  elseif kind == 9 then
    addr = tostring(at(0, 4):uint())
  else
    addr = tostring(at(0, 4):ipv4())
  end
  return addr .. "@" .. net_text(kind, number)
end

-- A NID of 20 bytes.
local function nid_large(range)
  return address_text(range(0, 1):uint(), range(1, 1):uint(), range(2, 2):uint(),
    function(from, nr) return range(4 + from, nr) end)
end

-- A NID of 8 bytes: address, number of the network, its type, least byte first.
local function nid4(range)
  local net = range(4, 4):le_uint()
  local addr = range(0, 4)
  if net == 0xffffffff and addr:le_uint() == 0xffffffff then return "<?>" end
  local kind, number = bit.rshift(net, 16), bit.band(net, 0xffff)
  local text
  if kind == 9 then
    text = tostring(addr:le_uint())
  else
    text = tostring(addr:le_ipv4())
  end
  return text .. "@" .. net_text(kind, number)
end

local function flags_text(value, names)
  local found = {}
  for i, name in ipairs(names) do
    if bit.band(bit.rshift(value, i - 1), 1) ~= 0 then found[#found + 1] = name end
  end
  return table.concat(found, "|")
end

-- ------------------------------------------------------------------ RPC -----

local function item(tvb, at, tree)
  local size = tvb(at + 8, 4):le_uint()
  local whole = 48 + size + (8 - size % 8) % 8
  if at + whole > tvb:len() then return nil end
  local opcode = tvb(at, 4):le_uint()
  local name = opcodes[opcode] or tostring(opcode)
  local sub = tree:add(rpc, tvb(at, whole), "Item " .. name)
  sub:add_le(r.opcode, tvb(at, 4)):append_text(" (" .. name .. ")")
  local flags = flags_text(tvb(at + 4, 2):le_uint(), item_flags)
  sub:add(r.flags, tvb(at + 4, 2), flags)
  sub:add_le(r.size, tvb(at + 8, 4))
  sub:add_le(r.stream, tvb(at + 12, 4))
  sub:add_le(r.session, tvb(at + 16, 8))
  sub:add_le(r.xid, tvb(at + 24, 8))
  sub:add_le(r.ackd, tvb(at + 32, 8))
  sub:add_le(r.remaining, tvb(at + 40, 4))
  sub:add_le(r.status, tvb(at + 44, 4))
  if size > 0 then sub:add(r.body, tvb(at + 48, size)) end
  return whole, name
end

function rpc.dissector(tvb, pinfo, root)
  if tvb:len() < 24 or tvb(0, 4):le_uint() ~= RPC then return 0 end
  local bytes = tvb(12, 4):le_uint()
  if bytes > tvb:len() or bytes < 24 then return 0 end
  local tree = root:add(rpc, tvb(0, bytes))
  local version = tvb(8, 2):le_uint()
  tree:add_le(r.sum, tvb(4, 4))
  tree:add_le(r.version, tvb(8, 2))
  tree:add_le(r.bytes, tvb(12, 4))
  if version == 0 then
    tree:add_le(r.lowest, tvb(16, 2))
    tree:add_le(r.highest, tvb(18, 2))
    return bytes
  end
  if version ~= 1 or bytes < 56 then return bytes end
  local items = tvb(16, 4):le_uint()
  tree:add_le(r.items, tvb(16, 4))
  tree:add_le(r.epoch, tvb(20, 4))
  tree:add_le(r.life, tvb(24, 8))
  tree:add(r.sender, tvb(32, 16), tvb(32, 8):le_uint64():tohex() .. ":" ..
    tvb(40, 8):le_uint64():tohex())
  tree:add_le(r.incarnation, tvb(48, 8))
  local at, names, last, same = 56, {}, nil, 0
  local function note()
    if last then names[#names + 1] = last .. (same > 1 and " x" .. same or "") end
  end
  for _ = 1, math.min(items, ITEMS_MAX) do
    if at + 48 > bytes then break end
    local whole, name = item(tvb(0, bytes):tvb(), at, tree)
    if not whole then break end
    if name == last then
      same = same + 1
    else
      note()
      last, same = name, 1
    end
    at = at + whole
  end
  note()
  local text = "RPC " .. table.concat(names, ", ", 1, math.min(#names, 8))
  tree:append_text(": " .. text)
  pinfo.cols.protocol = "M0RPC"
  return bytes, text
end

-- ----------------------------------------------------------------- LNet -----

local function ping(range, tree)
  local tvb = range:tvb()
  local count = tvb(12, 4):le_uint()
  local mask = tvb(4, 4):le_uint()
  tree:add(m.features, tvb(4, 4), flags_text(mask, features))
  tree:add_le(m.ping_pid, tvb(8, 4))
  local at, whole = 16, 0
  for i = 0, math.min(count, PING_MAX) - 1 do
    if at + 16 > tvb:len() then break end
    if i == 0 then
      tree:add_le(m.sequence, tvb(at + 8, 4))
      whole = tvb(at + 12, 4):le_uint()
    else
      tree:add(m.ping_nid, tvb(at, 8), nid4(tvb(at, 8)))
    end
    at = at + 16
  end
  if bit.band(mask, 0x20) == 0 then return end
  local stop = math.min(whole - whole % 4, tvb:len())
  while at + 12 <= stop do
    local size = tvb(at + 4, 1):uint() + 8
    if at + 4 + size > tvb:len() then break end
    tree:add(m.ping_nid, tvb(at + 4, size), nid_large(tvb(at + 4, size)))
    at = at + 4 + size + (4 - size % 4) % 4
  end
end

-- Bytes of a header, and of the message where it is known.
local function lnet_size(version, tvb, at)
  local pids = version == 4 and 40 or 16
  if tvb:len() - at < pids + 56 then return nil end
  return pids + 56 + tvb(at + pids + 12, 4):le_uint(), pids
end

-- The transfer machines of a message of m0_net, by which a node's processes are known: a PUT with
-- the number alone in its match bits, and the sender's portal and number in its data. Bulk names
-- buffers instead.
local function machines(body, tree)
  local bits, data = body(20, 4):le_uint(), body(24, 4):le_uint()
  local portal = bit.rshift(data, 16)
  if body(16, 4):le_uint() ~= 0 or bit.band(bits, 0xfffff) ~= 0 or
    body(28, 4):le_uint() ~= 0 or portal == 0 or portal > 63 then return "" end
  local to, from = bit.rshift(bits, 20), bit.band(data, 0xffff)
  tree:add(m.machine, body(20, 4), to):set_generated()
  tree:add(m.from_portal, body(24, 4), portal):set_generated()
  tree:add(m.from_machine, body(24, 4), from):set_generated()
  return string.format(" machine=%d from=%d", to, from)
end

local bodies = {
  [0] = function(body, tree)
    tree:add(m.handle, body(0, 16))
    tree:add_le(m.bits, body(16, 8))
    tree:add_le(m.mlength, body(24, 4))
    return string.format(" mlength=%d", body(24, 4):le_uint())
  end,
  [1] = function(body, tree)
    local ack = body(0, 16):bytes():tohex() ~= string.rep("F", 32)
    tree:add(m.handle, body(0, 16))
    tree:add(m.ack, body(0, 16), ack)
    tree:add_le(m.bits, body(16, 8))
    tree:add_le(m.data, body(24, 8))
    tree:add_le(m.portal, body(32, 4))
    tree:add_le(m.offset, body(36, 4))
    return string.format(" portal=%d", body(32, 4):le_uint()) .. machines(body, tree)
  end,
  [2] = function(body, tree)
    tree:add(m.handle, body(0, 16))
    tree:add_le(m.bits, body(16, 8))
    tree:add_le(m.portal, body(24, 4))
    tree:add_le(m.offset, body(28, 4))
    tree:add_le(m.sink, body(32, 4))
    return string.format(" portal=%d", body(24, 4):le_uint())
  end,
  [3] = function(body, tree)
    tree:add(m.handle, body(0, 16))
    return ""
  end,
}

local function message(version, tvb, pinfo, root)
  local size, pids = lnet_size(version, tvb, 0)
  -- A capture may have the first bytes of the payload alone.
  local tree = root:add(lnet, tvb(0, math.min(size, tvb:len())))
  local dest, source
  if version == 4 then
    dest, source = nid_large(tvb(0, 20)), nid_large(tvb(20, 20))
    tree:add(m.dest, tvb(0, 20), dest)
    tree:add(m.source, tvb(20, 20), source)
  else
    dest, source = nid4(tvb(0, 8)), nid4(tvb(8, 8))
    tree:add(m.dest, tvb(0, 8), dest)
    tree:add(m.source, tvb(8, 8), source)
  end
  local kind, nr = tvb(pids + 8, 4):le_uint(), tvb(pids + 12, 4):le_uint()
  local name = types[kind] or tostring(kind)
  tree:add_le(m.dest_pid, tvb(pids, 4))
  tree:add_le(m.source_pid, tvb(pids + 4, 4))
  tree:add(m.type, tvb(pids + 8, 4), name)
  tree:add_le(m.length, tvb(pids + 12, 4))
  local text = string.format("%s %s -> %s", name, source, dest)
  if bodies[kind] then text = text .. bodies[kind](tvb(pids + 16, 40), tree) end
  text = text .. string.format(" payload=%d", nr)
  local here = math.min(nr, tvb:len() - pids - 56)
  if here > 0 then
    local payload = tvb(pids + 56, here)
    local first = here >= 16 and payload(0, 4):le_uint() or 0
    tree:add(m.payload, payload)
    if first == PING then
      ping(payload, tree)
      text = text .. " [ping]"
    elseif first == RPC then
      local _, inner = rpc.dissector(payload:tvb(), pinfo, root)
      if inner then text = text .. " [" .. inner .. "]" end
    end
  end
  tree:append_text(": " .. text)
  return text
end

-- -------------------------------------------------------------- capture -----

-- One byte 1, flags (1: leaves, 2: large NIDs, 4: dropped, 8: the payload is not whole),
-- two bytes: where the message begins, least byte first; two NIDs of 20 bytes, the reason of
-- a drop, then the header and what there is of the payload.
function capture.dissector(tvb, pinfo, root)
  if tvb:len() < 44 or tvb(0, 1):uint() ~= 1 then return 0 end
  local flags, at = tvb(1, 1):uint(), tvb(2, 2):le_uint()
  local version = bit.band(flags, 2) ~= 0 and 4 or 3
  if at < 44 or at > tvb:len() or not lnet_size(version, tvb, at) then return 0 end
  local leaves = bit.band(flags, 1) ~= 0
  local near, hop = nid_large(tvb(4, 20)), nid_large(tvb(24, 20))
  local tree = root:add(capture, tvb(0, at))
  local text = (leaves and "out " or "in ") .. near .. (leaves and " > " or " < ") .. hop
  tree:add(c.direction, tvb(1, 1), leaves and "out" or "in")
  tree:add(c.near, tvb(4, 20), near)
  tree:add(c.hop, tvb(24, 20), hop)
  pinfo.cols.protocol = "LNET"
  local info = message(version, tvb(at):tvb(), pinfo, root)
  if bit.band(flags, 4) ~= 0 then
    local why = at > 44 and tvb(44, at - 44):stringz() or ""
    tree:add(c.dropped, tvb(44, at - 44), why)
    info = info .. " [dropped: " .. why .. "]"
  end
  if bit.band(flags, 8) ~= 0 then
    tree:add(c.partial, tvb(1, 1), true)
    info = info .. " [incomplete]"
  end
  tree:append_text(": " .. text)
  pinfo.cols.src = leaves and near or hop
  pinfo.cols.dst = leaves and hop or near
  pinfo.cols.info = info
  return tvb:len()
end

-- ------------------------------------------------------------- ksocklnd -----

local stream_field = Field.new("tcp.stream")
-- Of each direction of a connection: the version that its hello had.
local ways = {}

function ksock.init()
  ways = {}
end

local function way_of(pinfo)
  local stream = stream_field()
  local key = string.format("%s/%s:%d", stream and stream.value or "", tostring(pinfo.src),
    pinfo.src_port)
  ways[key] = ways[key] or {}
  return ways[key]
end

local function is_frame(tvb, at)
  local kind = tvb(at, 4):le_uint()
  return kind == NOOP or kind == LNET
end

-- The version of a connection whose hello was not recorded: where a type of message is.
local function guess(tvb, at)
  if tvb:len() - at < FRAME + 56 or tvb(at, 4):le_uint() == NOOP then return 3 end
  return types[tvb(at + FRAME + 24, 4):le_uint()] and 3 or 4
end

local function hello_size(tvb, at)
  if tvb(at, 4):le_uint() == HELLO_V1 then return 72, 1 end
  local version = tvb(at + 4, 4):le_uint()
  return ({ [2] = 56, [3] = 56, [4] = 80 })[version], version
end

-- What begins at `at`: a name, its bytes (nil: more are needed to tell), its version.
local function what(tvb, at, way)
  if tvb:len() - at < 8 then return "more" end
  local magic, second = tvb(at, 4):le_uint(), tvb(at + 4, 4):le_uint()
  if magic == ACCEPTOR and (second == 1 or second == 2) then
    return "request", second == 1 and 16 or 28, second
  elseif magic == HELLO or magic == HELLO_V1 then
    local size, version = hello_size(tvb, at)
    if size then return "hello", size, version end
  end
  local version = way.version
  if version == 1 then return "message", lnet_size(1, tvb, at), 1 end
  if not is_frame(tvb, at) then return "garbage" end
  version = version or guess(tvb, at)
  if magic == NOOP then return "frame", FRAME, version end
  local size = lnet_size(version, tvb, at + FRAME)
  return "frame", size and FRAME + size, version
end

local function request(tvb, tree, version)
  local range = version == 1 and tvb(8, 8) or tvb(8, 20)
  local target = version == 1 and nid4(range) or nid_large(range)
  tree:add_le(f.request, tvb(4, 4))
  tree:add(f.target, range, target)
  return string.format("request v%d %s", version, target)
end

local function hello(tvb, tree, version)
  local source
  if version == 1 then
    source = nid4(tvb(8, 8))
    tree:add(f.hello, tvb(4, 4), 1)
    tree:add(f.source, tvb(8, 8), source)
    tree:add_le(f.source_pid, tvb(20, 4))
    tree:add_le(f.incarnation, tvb(32, 8))
    tree:add(f.ctype, tvb(40, 4), ctypes[tvb(40, 4):le_uint()] or "?")
    return "HELLO v1 " .. source
  end
  local at = version == 4 and 48 or 24
  local dest
  if version == 4 then
    source, dest = nid_large(tvb(8, 20)), nid_large(tvb(28, 20))
  else
    source, dest = nid4(tvb(8, 8)), nid4(tvb(16, 8))
  end
  local half = (at - 8) / 2
  local ctype = tvb(at + 24, 4):le_uint()
  tree:add_le(f.hello, tvb(4, 4))
  tree:add(f.source, tvb(8, half), source)
  tree:add(f.dest, tvb(8 + half, half), dest)
  tree:add_le(f.source_pid, tvb(at, 4))
  tree:add_le(f.incarnation, tvb(at + 8, 8))
  tree:add(f.ctype, tvb(at + 24, 4), ctypes[ctype] or tostring(ctype))
  tree:add_le(f.ips, tvb(at + 28, 4))
  return string.format("HELLO v%d %s -> %s %s", version, source, dest,
    ctypes[ctype] or ctype)
end

local function frame(tvb, pinfo, root, tree, version)
  local kind = tvb(0, 4):le_uint()
  tree:add_le(f.frame, tvb(0, 4))
  tree:add_le(f.csum, tvb(4, 4))
  tree:add_le(f.zcask, tvb(8, 8))
  tree:add_le(f.zcack, tvb(16, 8))
  if kind == NOOP then return "NOOP" end
  return message(version, tvb(FRAME):tvb(), pinfo, root)
end

local function one(name, tvb, pinfo, root, version)
  if name == "message" then return message(1, tvb, pinfo, root) end
  local tree = root:add(ksock, tvb(0, name == "frame" and FRAME or tvb:len()))
  local text
  if name == "request" then
    text = request(tvb, tree, version)
  elseif name == "hello" then
    text = hello(tvb, tree, version)
  else
    text = frame(tvb, pinfo, root, tree, version)
  end
  tree:append_text(": " .. text)
  return text
end

function ksock.dissector(tvb, pinfo, root)
  local way, at, texts = way_of(pinfo), 0, {}
  pinfo.cols.protocol = "LNET"
  while at < tvb:len() do
    local name, size, version = what(tvb, at, way)
    if name == "garbage" or (size and size > PAYLOAD_MAX) then
      root:add(ksock, tvb(at)):add_proto_expert_info(malformed, "Not a message of LNet")
      texts[#texts + 1] = "[not LNet]"
      break
    end
    if name == "hello" then way.version = version end
    if not size or at + size > tvb:len() then
      -- TCP calls again with what is here and more.
      pinfo.desegment_offset = at
      pinfo.desegment_len = size and at + size - tvb:len() or DESEGMENT_ONE_MORE_SEGMENT
      break
    end
    texts[#texts + 1] = one(name, tvb(at, size):tvb(), pinfo, root, version)
    at = at + size
  end
  if #texts > 0 then
    pinfo.cols.info = table.concat(texts, "; ", 1, math.min(#texts, 6))
  end
  return tvb:len()
end

local function heuristic(tvb, pinfo, root)
  if tvb:len() < 8 then return false end
  local magic, version = tvb(0, 4):le_uint(), tvb(4, 4):le_uint()
  if not ((magic == ACCEPTOR and (version == 1 or version == 2)) or
      (magic == HELLO and version >= 2 and version <= 4)) then
    return false
  end
  pinfo.conversation = ksock
  ksock.dissector(tvb, pinfo, root)
  return true
end

ksock:register_heuristic("tcp", heuristic)
DissectorTable.get("tcp.port"):add(988, ksock)

-- -------------------------------------------------------------- o2iblnd -----

local function o2ib_sink(tvb, at, tree)
  local count = tvb(at + 4, 4):le_uint()
  local total = 0
  tree:add_le(b.key, tvb(at, 4))
  tree:add_le(b.frags, tvb(at + 4, 4))
  at = at + 8
  for _ = 1, count do
    if at + 12 > tvb:len() then break end
    tree:add_le(b.frag, tvb(at, 4))
    tree:add_le(b.frag_addr, tvb(at + 4, 8))
    total = total + tvb(at, 4):le_uint()
    at = at + 12
  end
  return string.format(" sink=%d in %d", total, count)
end

local function o2ib_limits(tvb, at, tree)
  tree:add_le(b.depth, tvb(at, 2))
  tree:add_le(b.frags_max, tvb(at + 2, 2))
  tree:add_le(b.bytes_max, tvb(at + 4, 4))
  return string.format(" depth=%d fragments=%d bytes=%d", tvb(at, 2):le_uint(),
    tvb(at + 2, 2):le_uint(), tvb(at + 4, 4):le_uint())
end

local function o2ib_lnet(tvb, pinfo, root, bytes)
  return ": " .. message(3, tvb(48, bytes):tvb(), pinfo, root)
end

local function o2ib_done(tvb, tree)
  tree:add_le(b.cookie, tvb(48, 8))
  tree:add_le(b.status, tvb(56, 4))
  return string.format(" status=%d", tvb(56, 4):le_int())
end

local o2ib_bodies = {
  CONNREQ = function(tvb, tree) return o2ib_limits(tvb, 48, tree) end,
  CONNACK = function(tvb, tree) return o2ib_limits(tvb, 48, tree) end,
  NOOP = function() return "" end,
  IMMEDIATE = function(tvb, _, pinfo, root)
    return o2ib_lnet(tvb, pinfo, root, tvb:len() - 48)
  end,
  PUT_REQ = function(tvb, tree, pinfo, root)
    tree:add_le(b.cookie, tvb(120, 8))
    return o2ib_lnet(tvb, pinfo, root, 72)
  end,
  PUT_ACK = function(tvb, tree)
    tree:add_le(b.cookie, tvb(48, 8))
    tree:add_le(b.sink_cookie, tvb(56, 8))
    return o2ib_sink(tvb, 64, tree)
  end,
  GET_REQ = function(tvb, tree, pinfo, root)
    tree:add_le(b.cookie, tvb(120, 8))
    return o2ib_sink(tvb, 128, tree) .. o2ib_lnet(tvb, pinfo, root, 72)
  end,
  PUT_NAK = o2ib_done,
  PUT_DONE = o2ib_done,
  GET_DONE = o2ib_done,
}

-- Bytes of the message that begins here, and its type; nil: it is none.
local function o2ib_size(tvb)
  if tvb:len() < 48 or tvb(0, 4):le_uint() ~= O2IB or
      tvb(4, 2):le_uint() ~= O2IB_VERSION then
    return nil
  end
  local kind, bytes = o2ib_types[tvb(6, 1):uint()], tvb(8, 4):le_uint()
  if not kind or bytes < kind[2] or bytes > O2IB_MAX or bytes > tvb:len() then return nil end
  return bytes, kind[1]
end

local function o2ib_message(tvb, pinfo, root)
  local bytes, name = o2ib_size(tvb)
  if not bytes then return false end
  local tree = root:add(o2ib, tvb(0, math.min(bytes, 48)))
  local source, dest = nid4(tvb(16, 8)), nid4(tvb(32, 8))
  tree:add(b.type, tvb(6, 1), name)
  tree:add(b.credits, tvb(7, 1))
  tree:add_le(b.bytes, tvb(8, 4))
  tree:add_le(b.csum, tvb(12, 4))
  tree:add(b.source, tvb(16, 8), source)
  tree:add_le(b.source_stamp, tvb(24, 8))
  tree:add(b.dest, tvb(32, 8), dest)
  tree:add_le(b.dest_stamp, tvb(40, 8))
  pinfo.cols.protocol = "LNET"
  local text = name .. o2ib_bodies[name](tvb(0, bytes):tvb(), tree, pinfo, root)
  tree:append_text(": " .. name)
  pinfo.cols.info = text
  return true
end

-- A rejection: magic, version, reason, stamp and limits of who rejects.
local function o2ib_reject(tvb, pinfo, root)
  if tvb:len() < 24 or tvb(0, 4):le_uint() ~= O2IB then return false end
  local reason = tvb(6, 1):uint()
  if not reasons[reason] then return false end
  local tree = root:add(o2ib, tvb(0, 24))
  tree:add(b.type, tvb(6, 1), "REJECT")
  tree:add(b.reason, tvb(6, 1), reasons[reason])
  tree:add_le(b.source_stamp, tvb(8, 8))
  pinfo.cols.protocol = "LNET"
  pinfo.cols.info = "REJECT " .. reasons[reason] .. o2ib_limits(tvb, 16, tree)
  return true
end

function o2ib.dissector(tvb, pinfo, root)
  if o2ib_message(tvb, pinfo, root) or o2ib_reject(tvb, pinfo, root) then return tvb:len() end
  return 0
end

-- Wireshark has these tables if it knows InfiniBand.
pcall(o2ib.register_heuristic, o2ib, "infiniband.payload", o2ib_message)
pcall(o2ib.register_heuristic, o2ib, "infiniband.mad.cm.private", function(tvb, pinfo, root)
  return o2ib_message(tvb, pinfo, root) or o2ib_reject(tvb, pinfo, root)
end)
