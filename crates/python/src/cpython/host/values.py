"""Runs code of an agent with CPython, in a sandbox that is there already.

Reads one request from its standard input, gives the code the engine's functions, and writes one reply: how the code
ended, or what it waits for. A process runs one request. What the functions mean, and what errors say, is as in the
built-in interpreter (`interpreter/functions.rs`, `interpreter/host.rs`). The code shares this process and could write
any reply; so the parent checks what it reads.
"""

import ast
import builtins
import io
import json
import os
import resource
import signal
import sys
import time
import warnings

FUNCTIONS = ("fork", "wait", "ask_user", "emit", "tool")
FILE = "<code>"
# Under these names, which no code can write, are functions that give awaitables, and the value of the last line.
AWAITED = "await "
VALUE = "value of the last line"

MAX_CALL_BYTES = 512 << 10
MAX_NEW_BYTES = 4 << 20
MAX_DEPTH = 100
MAX_MESSAGE = 8 << 10
MAX_LINE = 300
FIRST_FRAMES, LAST_FRAMES = 5, 15
# Memory beside the code's objects: the interpreter and packages; and what there is to report with at the end.
SLACK_BYTES, REPORT_BYTES = 64 << 20, 32 << 20
# How the process ends if there is too little memory even to say so; its parent knows the number.
OUT_OF_MEMORY = 65
# Seconds of processor time after which limits are looked at.
TICK = 0.01


def head(text, limit):
    """The beginning of a text that takes this many bytes at most, as text that can be written."""
    return text.encode("utf-8", "replace")[:limit].decode("utf-8", "ignore")


class Agent(tuple):
    """What `fork` returns."""

    __slots__ = ()
    number = property(lambda self: self[0])

    def __new__(cls, number):
        return tuple.__new__(cls, (number,))

    def __repr__(self):
        return f"Agent(number={self[0]!r})"

    def __getnewargs__(self):
        return tuple(self)


class Printed(io.RawIOBase):
    """Keeps the beginning of what is written."""

    def __init__(self, limit):
        self.bytes, self.limit, self.truncated = bytearray(), limit, False

    def writable(self):
        return True

    def write(self, data):
        data = bytes(data)
        if not self.truncated:
            kept = data[: self.limit - len(self.bytes)]
            self.bytes += kept
            self.truncated = len(kept) < len(data)
        return len(data)

    def text(self):
        return self.bytes.decode("utf-8", "ignore")


def type_name(value):
    return "None" if value is None else type(value).__name__


def text_of(function, name, value):
    if not isinstance(value, str):
        raise TypeError(f"{function}() takes a str as '{name}', not {type_name(value)}")
    return writable(value)


def writable(text):
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("a text in the arguments has half of a surrogate pair, which is no character") from None
    return str(text)


def to_json(value, depth=MAX_DEPTH):
    """A value of the code as JSON has it."""
    if depth == 0:
        raise ValueError(f"arguments are nested deeper than {MAX_DEPTH}")
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        if not -(1 << 63) <= value < 1 << 64:
            raise ValueError("an argument is a larger int than JSON carries: pass it as str")
        return int(value)
    if isinstance(value, float):
        if value != value or value in (float("inf"), float("-inf")):
            raise ValueError("an argument is nan or inf, which JSON does not have")
        return float(value)
    if isinstance(value, str):
        return writable(value)
    if isinstance(value, (list, tuple)) and not isinstance(value, Agent):
        return [to_json(item, depth - 1) for item in value]
    if isinstance(value, dict):
        return {json_key(key): to_json(item, depth - 1) for key, item in value.items()}
    raise TypeError(
        f"an argument is of type {type_name(value)}: pass str, int, float, bool, None, or lists and dicts of these"
    )


def json_key(key):
    if isinstance(key, str):
        return writable(key)
    if key is None or isinstance(key, (bool, int)):
        return json.dumps(key)
    raise TypeError(f"a dict in the arguments has a key of type {type_name(key)}: use str")


def canonical(call):
    return json.dumps(call, sort_keys=True)


def take(function, names, required, args, kwargs):
    if len(args) > len(names):
        raise TypeError(f"{function}() takes {len(names)} arguments ({', '.join(names)}), not {len(args)}")
    values = dict(zip(names, args))
    for name, value in kwargs.items():
        if name not in names:
            raise TypeError(f"{function}() has no argument '{name}': it takes {', '.join(names)}")
        if name in values:
            raise TypeError(f"{function}() got two values for '{name}'")
        values[name] = value
    for name in names[:required]:
        if name not in values:
            raise TypeError(f"{function}() lacks its argument '{name}'")
    return [values.get(name) for name in names]


def read_fork(args, kwargs):
    prompt, kind = take("fork", ("prompt", "kind"), 1, args, kwargs)
    prompt = text_of("fork", "prompt", prompt)
    return {"call": "fork", "prompt": prompt, "kind": None if kind is None else text_of("fork", "kind", kind)}


def read_ask_user(args, kwargs):
    (text,) = take("ask_user", ("text",), 1, args, kwargs)
    return {"call": "ask_user", "text": text_of("ask_user", "text", text)}


def read_emit(args, kwargs):
    (text,) = take("emit", ("text",), 1, args, kwargs)
    return {"call": "emit", "text": text_of("emit", "text", text)}


def read_tool(args, kwargs):
    name = args[0] if len(args) == 1 else None if args else kwargs.pop("name", None)
    if not isinstance(name, str):
        raise TypeError(
            'tool() takes the name of a tool, and the tool\'s arguments by name: tool("name", key=value)'
        )
    arguments = {writable(key): to_json(value) for key, value in kwargs.items()}
    # These have functions of their own. Only `ask_user` takes more as a tool: options.
    if name == "ask_user" and list(arguments) == ["question"]:
        if not isinstance(arguments["question"], str):
            raise TypeError("ask_user takes a str as its question")
        return {"call": "ask_user", "text": arguments["question"]}
    if name in ("fork", "wait", "emit"):
        raise ValueError(f"{name} is a function of this code: call {name}(…) itself")
    return {"call": "tool", "name": writable(name), "arguments": arguments}


def is_handle(value):
    of_agent = isinstance(value, tuple) and type(value).__name__ == "Agent"
    return of_agent and len(value) == 1 and type(value[0]) is int and value[0] >= 0


READ = {"fork": read_fork, "ask_user": read_ask_user, "emit": read_emit, "tool": read_tool}


