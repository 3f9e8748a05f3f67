"""Imports ONNX Runtime, and keeps it from AMX, where up to 1.24 its integer products are wrong for some
shapes, and differ from run to run (mended in 1.25, https://github.com/microsoft/onnxruntime/pull/27671).
To be imported before anything else imports it.

A process has to ask for AMX's tiles, and Linux refuses where a thread's signal stack is too small to save
them (https://docs.kernel.org/arch/x86/xstate.html). 8 kB are too small, and enough for all other
registers.
"""

import ctypes
import platform

SIZE = 8192


class _Stack(ctypes.Structure):
    _fields_ = [("sp", ctypes.c_void_p), ("flags", ctypes.c_int), ("size", ctypes.c_size_t)]


if platform.system() == "Linux" and platform.machine() == "x86_64":
    # As long as the process lives.
    _memory = ctypes.create_string_buffer(SIZE)
    ctypes.CDLL(None).sigaltstack(ctypes.byref(_Stack(ctypes.addressof(_memory), 0, SIZE)), None)

import onnxruntime  # now: others make the stack larger
