# What this process does.


def main():
    out = os.dup(1)
    # A file without a name, in place of the standard streams: what is written to it is lost, and it reads as empty.
    null = os.open("/tmp/null", os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
    os.unlink("/tmp/null")

    def send(reply, most=1 << 20):
        data = json.dumps(reply, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
        if len(data) > most:
            data = json.dumps({"TooLarge": len(data)}).encode()
        data = len(data).to_bytes(4, "little") + bytes(4) + data
        while data:
            data = data[os.write(out, data) :]

    send({"Ready": {"CPython": {"version": "%d.%d.%d" % sys.version_info[:3]}}})
    with open(0, "rb", closefd=False) as requests:
        lengths = requests.read(8)
        data = requests.read(int.from_bytes(lengths[:4], "little"))
    if not data:
        os._exit(0)
    run = Run(json.loads(data), send)
    soft = run.limits["memory_bytes"] + SLACK_BYTES + 4 * len(data)
    resource.setrlimit(resource.RLIMIT_DATA, (soft, soft + REPORT_BYTES))
    del data, lengths
    # Nothing of the exchange is left to the code but the end that it may break.
    for number in (0, 1, 2):
        os.dup2(null, number)
    os.closerange(max(out, null) + 1, 64)
    for name in list(os.environ):
        # Libraries of packages read these when they are imported, and fail where they can start no threads.
        if not name.endswith("_NUM_THREADS"):
            del os.environ[name]
    sys.argv[:] = [""]
    sys.path[:] = [path for path in sys.path if path != "/"]
    if os.path.isdir("/packages"):
        sys.path.append("/packages")
    try:
        run.start()
    except BaseException:
        # There is too little memory even to say so.
        os._exit(OUT_OF_MEMORY)


main()
