//! Ways out of CPython's sandbox: none leads anywhere.

use std::net::TcpListener;

use entourage_python::{Error, Limits, Outcome, Progress, Record, Script};

use super::{cpython, error_of, printed, run};
use crate::harness::*;

#[tokio::test]
async fn code_reads_no_file_of_the_system_and_of_its_owner() {
    let Some(workers) = cpython().await else { return };
    let secret = std::env::temp_dir().join(format!("entourage-python-secret-{}", std::process::id()));
    std::fs::write(&secret, "secret").unwrap();
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    let code = format!(
        "import os\nfor path in [{secret:?}, {manifest:?}, '/etc/passwd', '/etc/hostname', '/proc/self/status', '/sys', \
         '/home', '/bin/sh', '/usr/bin/env', '/dev/tty', '/dev/mem', '/run', '/var', '/boot']:\n  \
         assert not os.path.exists(path), path\n\
         print(sorted(os.listdir('/dev')), os.listdir('/tmp'))"
    );
    let seen = printed(&workers, &code).await;
    std::fs::remove_file(&secret).unwrap();
    assert_eq!(seen, "['null'] []\n");
}

#[tokio::test]
async fn code_writes_to_its_own_tmp_alone_and_only_so_much() {
    let Some(workers) = cpython().await else { return };
    for place in ["/x", "/dev/x", "/usr/lib/x", "/host.py", "/lib/x", "/etc/x"] {
        let error = error_of(&workers, &format!("open('{place}', 'w')"), Limits::default()).await;
        let refused = ["Read-only", "No such", "denied"].iter().any(|why| error.message.contains(why));
        assert!(refused, "{error:?}");
    }
    assert_eq!(
        printed(&workers, "open('/tmp/x', 'w').write('a')\nprint(open('/tmp/x').read())").await,
        "a\n"
    );
    assert_eq!(printed(&workers, "import os\nprint(os.listdir('/tmp'))").await, "[]\n");
    let limits = Limits { memory_bytes: 8 << 20, ..Limits::default() };
    let much =
        "for n in range(100):\n  with open(f'/tmp/{n}', 'wb') as file:\n    file.write(bytes(1 << 20))";
    let error = error_of(&workers, much, limits.clone()).await;
    assert!(error.message.contains("No space"), "{error:?}");
    let large = "with open('/tmp/a', 'wb') as file:\n  for n in range(100): file.write(bytes(1 << 20))";
    assert_eq!(error_of(&workers, large, limits).await.kind, "OSError");
}

#[tokio::test]
async fn code_reaches_no_network() {
    let Some(workers) = cpython().await else { return };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    for code in [
        format!("import socket\nsocket.create_connection(('127.0.0.1', {port}))"),
        format!("import urllib.request\nurllib.request.urlopen('http://127.0.0.1:{port}')"),
        "import socket\nsocket.socket(socket.AF_UNIX)".to_owned(),
        "import socket\nsocket.socket(socket.AF_NETLINK, socket.SOCK_RAW)".to_owned(),
        "import asyncio\nawait asyncio.open_connection('127.0.0.1', 9)".to_owned(),
    ] {
        let error = error_of(&workers, &code, Limits::default()).await;
        assert!(error.message.contains("not permitted"), "{code}: {error:?}");
    }
    assert!(listener.accept().is_err());
}

#[tokio::test]
async fn code_starts_no_process_and_no_thread() {
    let Some(workers) = cpython().await else { return };
    for (code, kind) in [
        ("import os\nos.fork()", "PermissionError"),
        ("import os\nwhile True: os.fork()", "PermissionError"),
        ("import os\nos.posix_spawn('/bin/true', ['true'], {})", "PermissionError"),
        ("import subprocess\nsubprocess.run(['true'])", "PermissionError"),
        ("import multiprocessing as m\nm.Process(target=print).start()", "PermissionError"),
        ("import threading\nthreading.Thread(target=print).start()", "RuntimeError"),
        ("import asyncio\nawait asyncio.to_thread(print)", "RuntimeError"),
        ("import os\nos.unshare(1)", "AttributeError"),
    ] {
        let error = error_of(&workers, code, Limits::default()).await;
        // Newer versions have more functions for it.
        let allowed = error.kind == kind || (kind == "AttributeError" && error.kind == "PermissionError");
        assert!(allowed, "{code}: {error:?}");
    }
    // What it becomes is in the same sandbox, and has no more to say.
    let error = run(&workers, "import os\nos.execv('/bin/sh', ['sh'])", Limits::default()).await.unwrap();
    assert_eq!(end_of(error).error.unwrap().kind, "FileNotFoundError");
}

#[tokio::test]
async fn code_has_no_environment() {
    let Some(workers) = cpython().await else { return };
    let code =
        "import os, sys\nprint(sorted(os.environ), sys.argv, os.getcwd(), os.getuid(), os.uname().nodename)";
    let threads = "['MKL_NUM_THREADS', 'OMP_NUM_THREADS', 'OPENBLAS_NUM_THREADS']";
    assert_eq!(printed(&workers, code).await, format!("{threads} [''] /tmp 65534 python\n"));
}

/// Memory, descriptors and devices that no limit of the process counts, or that are the whole machine's.
#[tokio::test]
async fn what_limits_do_not_count_is_refused() {
    let Some(workers) = cpython().await else { return };
    // Memory that counts as stack, and pages that a pipe keeps.
    let code = "import mmap\nmmap.mmap(-1, 1 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x100)";
    let error = error_of(&workers, code, Limits::default()).await;
    assert!(error.message.contains("not permitted"), "{error:?}");
    let library = "import ctypes, os\nlibrary = ctypes.CDLL(None, use_errno=True)\n";
    let calls = [("vmsplice", libc::SYS_vmsplice), ("tee", libc::SYS_tee), ("io_setup", libc::SYS_io_setup)];
    #[cfg(target_arch = "x86_64")]
    let calls = [&calls[..], &[("inotify_init", libc::SYS_inotify_init)]].concat();
    for (name, number) in calls {
        let code = format!("{library}print(library.syscall({number}, 0, 0, 0, 0), ctypes.get_errno())");
        assert_eq!(printed(&workers, &code).await, "-1 1\n", "{name}");
    }
}

/// Root's own code could change the modes of root's devices.
#[tokio::test]
async fn code_sees_no_device() {
    let Some(workers) = cpython().await else { return };
    let code = "import os, stat\n\
                def kind(path):\n  mode = os.stat(path).st_mode\n  return stat.S_ISREG(mode) or stat.S_ISDIR(mode)\n\
                print(open(os.devnull, 'w').write('x'))\n\
                print([path for path in ['/', '/tmp', '/dev', *('/dev/' + name for name in os.listdir('/dev'))] if not kind(path)])\n\
                print([number for number in range(64) if device(number)])";
    let device = "import os, stat\n\
                  def device(number):\n  try:\n    mode = os.fstat(number).st_mode\n  except OSError:\n    return False\n  \
                  return stat.S_ISCHR(mode) or stat.S_ISBLK(mode)\n";
    assert_eq!(printed(&workers, &format!("{device}{code}")).await, "1\n[]\n[]\n");
}

/// Its analysis, too, is done in a process of its own.
#[tokio::test]
async fn code_that_overflows_its_analysis_ends_no_other_process() {
    let Some(workers) = cpython().await else { return };
    let long = format!("x={}1", "1+".repeat(400_000));
    let deep = format!("x={}1{}", "(".repeat(400_000), ")".repeat(400_000));
    let lines: String = (1..40_000).map(|n| format!("  x{n}=x{}\n", n - 1)).collect();
    let chain = format!("if 0:\n  x0=tool('a')\n{lines}  await x39999");
    let many = format!("{}{}", "def f(a, b, c): 0\n".repeat(1_200), "f(0, 0, 0);".repeat(20_000));
    for code in [long, deep, chain, many] {
        match run(&workers, &code, Limits::default()).await {
            Ok(progress) => drop(end_of(progress)),
            Err(error) => {
                assert!(
                    matches!(error, Error::TooDeep | Error::TimedOut { .. } | Error::OutOfMemory { .. }),
                    "{error:?}"
                );
            }
        }
        assert_eq!(printed(&workers, "print(1)").await, "1\n");
    }
}

#[tokio::test]
async fn signals_reach_nobody_else() {
    let Some(workers) = cpython().await else { return };
    let here = std::process::id();
    let code = format!(
        "import os, signal\nprint(os.getpid() < 10, os.getppid())\nfor pid in (1, os.getppid(), -1):\n  \
         for number in (signal.SIGTERM, signal.SIGKILL):\n    try:\n      os.kill(pid, number)\n    except OSError:\n      \
         pass\ntry:\n  os.kill({here}, 0)\nexcept ProcessLookupError:\n  print('nobody')"
    );
    assert_eq!(printed(&workers, &code).await, "True 1\nnobody\n");
    let killed = run(&workers, "import os\nos.kill(os.getpid(), 9)", Limits::default()).await.unwrap_err();
    assert!(matches!(killed, Error::Killed { signal: 9 }), "{killed:?}");
}

#[tokio::test]
async fn a_handle_of_other_code_or_of_a_deleted_agent_raises() {
    let Some(workers) = cpython().await else { return };
    let forked = run(&workers, "wait(fork('a'))", Limits::default()).await.unwrap();
    assert!(matches!(forked, Progress::Blocked { .. }));
    for (code, says) in [
        ("h = type(fork('a'))(5)\nwait(h)", "this code forked no agent 5"),
        ("emit('a')\nwait(type(fork('b'))(0))", "this code forked no agent 0"),
        ("wait(type(fork('b'))(-1))", "what fork() returned"),
        ("class Agent(tuple): pass\nwait(Agent([0]))", "this code forked no agent 0"),
    ] {
        let script = Script::new(code);
        let ended = end_of(workers.run("another", &script, &Record::default(), None).await.unwrap());
        let error = ended.error.unwrap();
        assert!(error.message.contains(says), "{code}: {error:?}");
    }
    let deleted = Outcome::Failed("the agent was deleted".into());
    let record = Record { calls: vec![fork("a")], outcomes: vec![(0, deleted)] };
    let ended = end_of(workers.run("o", &Script::new("wait(fork('a'))"), &record, None).await.unwrap());
    let error = ended.error.unwrap();
    assert_eq!((error.kind.as_str(), error.message.as_str()), ("RuntimeError", "the agent was deleted"));
}

#[tokio::test]
async fn a_reply_that_the_code_forges_is_checked() {
    let Some(workers) = cpython().await else { return };
    for (progress, says) in [
        (r#"{"blocked": {"calls": [], "awaits": []}}"#, "waits for nothing"),
        (r#"{"blocked": {"calls": [], "awaits": [[]]}}"#, "waits for nothing"),
        (r#"{"blocked": {"calls": [], "awaits": [[7]]}}"#, "waits for call 7"),
        (r#"{"blocked": {"calls": [], "awaits": [[0]]}}"#, "waits for call 0"),
        (
            r#"{"blocked": {"calls": [{"call": {"call": "emit", "text": "a"}, "line": 1}], "awaits": [[1]]}}"#,
            "waits for call 1",
        ),
        (
            r#"{"blocked": {"calls": [{"call": {"call": "ask_user", "text": "a"}, "line": 1}] * 300, "awaits": [[1]]}}"#,
            "more than 200 calls",
        ),
        (
            r#"{"diverged": {"number": 0, "line": null, "expected": {"call": "emit", "text": "x"}, "found": null}}"#,
            "not on record like this",
        ),
        (r#"{"ended": {**ended, "stdout": "x" * 100000}}"#, "more than is kept"),
        (r#"{"ended": {**ended, "value": "x" * 100000}}"#, "more than is kept"),
        (r#"{"ended": {**ended, "unawaited": [0]}}"#, "call 0 is no fork"),
        (
            r#"{"ended": {**ended, "error": {"kind": "x" * 100000, "message": "", "line": 1, "traceback": "", "hint": null}}}"#,
            "its error has",
        ),
        (
            r#"{"diverged": {"number": 0, "line": null, "expected": {"call": "tool", "name": "a", "arguments": {}}, "found": null, "error": {"kind": "", "message": "x" * 100000, "line": 1, "traceback": "", "hint": null}}}"#,
            "its error has",
        ),
        (r#"{"blocked": {"calls": [], "awaits": [[0]] * 2000000}}"#, "too large"),
        ("{'ended': 1}", "invalid type"),
    ] {
        let code = format!(
            "import json, os\nnull = None\nended = dict(stdout='', truncated=False, value=None, error=None, calls=[], \
             unawaited=[])\nreply = json.dumps({{'Ran': {{'progress': {}, 'spent': False}}}}).encode()\n\
             for number in range(3, 64):\n  try:\n    os.write(number, len(reply).to_bytes(4, 'little') + bytes(4) + \
             reply)\n  except OSError:\n    pass\nos._exit(0)",
            progress
        );
        let record = Record { calls: vec![tool("a")], outcomes: vec![(0, value("b"))] };
        let error = workers.run("o", &Script::new(code), &record, None).await.unwrap_err();
        assert!(matches!(&error, Error::Reply(_)) && error.to_string().contains(says), "{progress}: {error}");
    }
    // What it may say, it may say in this way too; and no process outlives its run.
    assert!(workers.processes().is_empty());
    let silent = run(&workers, "import os\nos._exit(3)", Limits::default()).await.unwrap_err();
    assert!(matches!(&silent, Error::Crashed { status, .. } if status.contains('3')), "{silent:?}");
}

#[tokio::test]
async fn nothing_of_the_exchange_is_left_to_the_code() {
    let Some(workers) = cpython().await else { return };
    let code = "import os\nfor number in (0, 1, 2):\n  print(os.fstat(number).st_nlink)\n\
                os.write(1, b'x')\ntry:\n  input()\nexcept EOFError:\n  print('no input')";
    assert_eq!(printed(&workers, code).await, "0\n0\n0\nno input\n");
}
