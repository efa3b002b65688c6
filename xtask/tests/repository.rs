//! The checks as a person runs them, first on the repository itself.

use std::{
    io,
    path::Path,
    process::{Command, ExitStatus},
};

/// Runs the program in a folder; returns its exit status and its whole output.
fn xtask(arguments: &[&str], folder: &Path) -> io::Result<(ExitStatus, String)> {
    let output = Command::new(env!("CARGO_BIN_EXE_xtask")).args(arguments).current_dir(folder).output()?;
    let said = [output.stdout, output.stderr].concat();
    Ok((output.status, String::from_utf8_lossy(&said).into_owned()))
}

#[test]
fn the_repository_is_tidy() {
    let (status, said) = xtask(&["tidy"], Path::new(".")).unwrap();
    assert!(status.success(), "\n{said}");
}

#[test]
fn the_specification_is_complete_and_its_tests_exist() {
    let (status, said) = xtask(&["spec"], Path::new(".")).unwrap();
    assert!(status.success() && said.contains("S1-S5    560"), "\n{said}");
}

#[test]
fn a_mistake_in_an_untracked_file_is_reported_with_exit_status_1() {
    let folder = tempfile::tempdir().unwrap();
    let git = Command::new("git").args(["init", "--quiet"]).current_dir(&folder).status().unwrap();
    assert!(git.success());
    std::fs::write(folder.path().join(".gitignore"), "ignored.md\n").unwrap();
    for file in ["notes.md", "ignored.md"] {
        std::fs::write(folder.path().join(file), "fine\nnot fine \n").unwrap();
    }
    let (status, said) = xtask(&["tidy"], folder.path()).unwrap();
    assert_eq!(status.code(), Some(1));
    assert!(said.contains("\nnotes.md:2: white space at the end of the line: remove it\n"), "{said}");
    assert!(!said.contains("ignored.md:"), "{said}");
}

#[test]
fn an_unknown_command_lists_the_known_ones() {
    for arguments in [&[] as &[&str], &["tidi"], &["tidy", "now"]] {
        let (status, said) = xtask(arguments, Path::new(".")).unwrap();
        assert_eq!(status.code(), Some(2));
        assert!(said.contains("tidy") && said.contains("spec"), "{said}");
    }
}
