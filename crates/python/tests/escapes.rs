//! Ways out of the interpreter and of its process: none leads anywhere.

use entourage_python::{Interpreter, Limits, Measure, Settings};

use crate::harness::*;

#[tokio::test]
async fn code_reaches_nothing_of_the_system() {
    for code in [
        "open('/etc/passwd').read()",
        "open('/tmp/x', 'w').write('a')",
        "import os\nos.system('id')",
        "import os\nos.getenv('PATH')",
        "import os\nos.environ['PATH']",
        "import os\nos.fork()",
        "import os\nos.kill(os.getppid(), 9)",
        "import os\nos.listdir('/')",
        "import subprocess",
        "import socket",
        "import ctypes",
        "import signal",
        "import sys\nsys.modules['os'].system('id')",
        "import sys\nsys.exit(3)",
        "__import__('os').system('id')",
        "eval('1')",
        "exec('x = 1')",
        "compile('1', 'a', 'eval')",
        "().__class__.__bases__[0].__subclasses__()",
        "(lambda: 0).__globals__",
        "(lambda: 0).__code__",
        "globals()",
        "breakpoint()",
        "input()",
        "from pathlib import Path\nPath('/etc/passwd').read_text()",
        "from pathlib import Path\nPath('/').exists()",
        "from pathlib import Path\nlist(Path('/').iterdir())",
        "_call_0_tool('x')",
        "_call_raise('x')",
    ] {
        let ended = end_of(confined(code, Limits::default()).await.unwrap());
        let error = ended.error.unwrap_or_else(|| panic!("{code}: {:?} {}", ended.value, ended.stdout));
        assert!(!error.message.is_empty(), "{code}");
        assert!(ended.calls.is_empty(), "{code}");
    }
}

/// Whether the kernel has all of Landlock, asked in a way that does not put up with less.
#[cfg(target_os = "linux")]
fn kernel_has_landlock() -> bool {
    use landlock::{ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, Ruleset, RulesetAttr, Scope};

    let whole = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(ABI::V6))
        .and_then(|rules| rules.handle_access(AccessNet::from_all(ABI::V6)))
        .and_then(|rules| rules.scope(Scope::from_all(ABI::V6)));
    whole.and_then(Ruleset::create).is_ok()
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_worker_says_how_it_is_confined() {
    let interpreter = workers(Settings::default()).interpreter().await.unwrap();
    let Interpreter::BuiltIn(confinement) = interpreter else { panic!("{interpreter}") };
    assert_eq!(confinement.landlock == Measure::Full, kernel_has_landlock(), "{confinement}");
    assert_eq!(confinement.seccomp, Measure::Full, "{confinement}");
    assert_eq!(confinement.limits, Measure::Full, "{confinement}");
    assert_eq!(confinement.memory, Measure::Full, "{confinement}");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_worker_has_no_environment_and_no_privileges() {
    let workers = workers(Settings::default());
    let script = entourage_python::Script::new("ask_user('q')");
    workers.run("someone", &script, &Default::default(), None).await.unwrap();
    let id = workers.processes()[0].id;
    assert!(std::fs::read(format!("/proc/{id}/environ")).unwrap().is_empty());
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap();
    assert!(status.contains("NoNewPrivs:\t1"), "{status}");
    assert!(status.contains("Seccomp:\t2"), "{status}");
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap();
    let group = stat.rsplit(')').next().unwrap().split_whitespace().nth(2).unwrap();
    assert_eq!(group, id.to_string());
    let limits = std::fs::read_to_string(format!("/proc/{id}/limits")).unwrap();
    for line in ["Max file size", "Max core file size", "Max processes"] {
        let line = limits.lines().find(|found| found.starts_with(line)).unwrap();
        assert!(line.split_whitespace().any(|word| word == "0"), "{line}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_confined_process_can_do_nothing_with_the_system() {
    use std::process::Command;

    let output = Command::new(example("confined")).env_clear().output().unwrap();
    let told: serde_json::Map<String, serde_json::Value> =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"));
    let mut tried = 0;
    for (attempt, error) in told.iter().filter(|(attempt, _)| *attempt != "confinement") {
        // Not permitted, by seccomp: not merely what happens to be so here.
        assert_eq!(error, &serde_json::json!(1), "{attempt}: {told:?}");
        tried += 1;
    }
    assert!(tried > 10, "{told:?}");
}
