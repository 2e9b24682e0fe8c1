# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Declarations of m0/easy.h and m0/rpc_store.h for ctypes. Private to the package."""
from __future__ import annotations

import ctypes
import os
from ctypes import (CFUNCTYPE, POINTER, Structure, c_bool, c_char_p, c_int, c_int32,
                    c_uint32, c_uint64, c_void_p)

SONAME = 'libcolibri.so.1'
WHY_BYTES = 768
QUERY, UPDATE = 0, 1


class Slice(Structure):
    _fields_ = [('sl_data', c_void_p), ('sl_nr', c_uint64)]


class Uint128(Structure):
    _fields_ = [('u_hi', c_uint64), ('u_lo', c_uint64)]


class Request(Structure):
    _fields_ = [('erq_opcode', c_uint32), ('erq_args', Slice), ('erq_data', Slice),
                ('erq_tx', c_void_p), ('erq_client', Uint128)]


Free = CFUNCTYPE(None, c_void_p)


class Reply(Structure):
    _fields_ = [('ep_data', Slice), ('ep_free', Free)]


Handler = CFUNCTYPE(c_int, c_void_p, POINTER(Request), POINTER(Reply))


class Op(Structure):
    _fields_ = [('eo_opcode', c_uint32), ('eo_kind', c_int), ('eo_name', c_char_p),
                ('eo_handler', Handler)]


class Cfg(Structure):
    _fields_ = [('en_ops', POINTER(Op)), ('en_ops_nr', c_uint32), ('en_ctx', c_void_p),
                ('en_dir', c_char_p), ('en_store_bytes_max', c_uint64),
                ('en_store', c_void_p), ('en_memory_max', c_uint64),
                ('en_timeout_ns', c_uint64)]


class Call(Structure):
    pass


Done = CFUNCTYPE(None, POINTER(Call))
Call._fields_ = [
    ('ec_opcode', c_uint32), ('ec_kind', c_int), ('ec_args', Slice), ('ec_data', Slice),
    ('ec_out', c_void_p), ('ec_out_max', c_uint64), ('ec_timeout_ns', c_uint64),
    ('ec_done', Done), ('ec_queued', c_bool), ('ec_private', c_void_p),
    ('ec_rc', c_int32), ('ec_out_nr', c_uint64), ('ec_lib', c_void_p)]

# Structures by their names in the headers, for the test of their layout.
STRUCTURES = {'m0_rpc_slice': Slice, 'm0_uint128': Uint128, 'm0_easy_request': Request,
              'm0_easy_reply': Reply, 'm0_easy_op': Op, 'm0_easy_cfg': Cfg,
              'm0_easy_call': Call}

_CALLS = {
    'm0_easy_open': (c_int, [POINTER(c_void_p), c_char_p, POINTER(Cfg), c_char_p]),
    'm0_easy_close': (None, [c_void_p]),
    'm0_easy_addr': (c_char_p, [c_void_p]),
    'm0_easy_begin': (c_int, [c_void_p, POINTER(Call)]),
    'm0_easy_cancel': (None, [c_void_p, POINTER(Call)]),
    'm0_free': (None, [c_void_p]),
    'm0_version': (c_char_p, []),
    'm0_rpc_tx_get': (c_int, [c_void_p, Slice, POINTER(Slice)]),
    'm0_rpc_tx_put': (c_int, [c_void_p, Slice, Slice]),
    'm0_rpc_tx_del': (c_int, [c_void_p, Slice]),
    'm0_rpc_tx_next': (c_int, [c_void_p, Slice, POINTER(Slice), POINTER(Slice)]),
}

_lib: ctypes.CDLL | None = None


def lib() -> ctypes.CDLL:
    """The library: that of $COLIBRI_LIBRARY, or the loader's."""
    global _lib
    if _lib is None:
        found = ctypes.CDLL(os.environ.get('COLIBRI_LIBRARY') or SONAME)
        for name, (result, args) in _CALLS.items():
            call = getattr(found, name)
            call.restype, call.argtypes = result, args
        _lib = found
    return _lib


def slice_of(data: bytes) -> Slice:
    """`data`, which must outlive the slice."""
    return Slice(ctypes.cast(c_char_p(data), c_void_p), len(data))


def bytes_of(part: Slice) -> bytes:
    """A copy."""
    if part.sl_nr == 0:
        return b''
    return ctypes.string_at(part.sl_data, part.sl_nr)
