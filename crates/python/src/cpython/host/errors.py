# Errors of the code, in the terms of its author.

def hint(error, message):
    """What to do instead, for what models write most."""
    if isinstance(error, MemoryError):
        return "Work on less at a time, and keep results short."
    if message.startswith("the code computed"):
        return "Do less in one go: fewer steps, smaller inputs, or forks that share the work."
    if isinstance(error, RecursionError):
        return "Functions call each other too deep. Use a loop."
    if isinstance(error, ImportError):
        return (
            "fork, wait, ask_user, emit and tool are there without an import. There are the standard library and what "
            "the operator installed; nothing can be installed from here."
        )
    if "'await' expression" in message or "a coroutine was expected" in message:
        return (
            "wait, tool and ask_user give their result in place, and an awaitable only where the code awaits it: "
            "`await tool(...)`, or `await asyncio.gather(tool(...), wait(agent))`."
        )
    if "start new thread" in message or isinstance(error, BlockingIOError):
        return "There are no threads and no processes. Use fork, or await asyncio.gather(tool(...), ...)."
    if isinstance(error, OSError):
        return "There are no network, no processes and no files but those that the code writes to /tmp: use tool(...)."
    return None


class Frames:
    """The calls of the code in a traceback, of which there may be very many."""

    def __init__(self, frames=()):
        self.first, self.last, self.left_out = list(frames), [], 0

    def add(self, code, line):
        if code.co_filename != FILE:
            return
        frames = self.first if len(self.first) < FIRST_FRAMES else self.last
        frames.append((line, code.co_name))
        if len(self.last) > LAST_FRAMES:
            self.last.pop(0)
            self.left_out += 1


def explained(code, kind, message, frames, remedy):
    """An error as the code's author is to read it: with the lines as they were written."""
    kind, message = head(kind, MAX_LINE), head(message, MAX_MESSAGE)
    lines, text, shown = code.splitlines(), [], frames.first + frames.last
    if shown:
        text.append("Traceback (most recent call last):")
    for place, (line, within) in enumerate(shown):
        if frames.left_out and place == FIRST_FRAMES:
            text.append(f"  ... {frames.left_out} more calls ...")
        text.append(f"  line {line}" + (f", in {head(within, MAX_LINE)}" if within else ""))
        if 0 < line <= len(lines):
            text.append("    " + head(lines[line - 1].strip(), MAX_LINE))
    text.append(f"{kind}: {message}" if message else kind)
    line = shown[-1][0] if shown else None
    return {"kind": kind, "message": message, "line": line, "traceback": "\n".join(text), "hint": remedy}


