//! Has the program name the places that its start must relocate in a bitmap, not a list of 24 bytes each: 2.8 MB that a
//! start need not read and memory need not hold. Loaders can read that since version 2.36 of the GNU C library, so only a
//! program for this machine is linked so, and only where its library is as new.

use std::{env, process::Command};

/// The first version of the GNU C library whose loader reads compact relocations.
const READS: (u32, u32) = (2, 36);

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let of_target = |name: &str| env::var(format!("CARGO_CFG_TARGET_{name}")).unwrap_or_default();
    let is_for_here = env::var("HOST").ok() == env::var("TARGET").ok();
    if is_for_here && of_target("OS") == "linux" && of_target("ENV") == "gnu" && library() >= Some(READS) {
        println!("cargo:rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

/// The version of this machine's C library; none if it does not say.
fn library() -> Option<(u32, u32)> {
    let said = Command::new("getconf").arg("GNU_LIBC_VERSION").output().ok()?;
    let (major, minor) =
        std::str::from_utf8(&said.stdout).ok()?.trim().strip_prefix("glibc ")?.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}
