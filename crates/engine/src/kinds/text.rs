//! Reads text files of users: only regular ones, of a limited size.

use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

/// The largest file that is read.
const MOST_BYTES: u64 = 1024 * 1024;

/// Reads a file. Only a regular file is opened, also if a link leads to it: a pipe would wait for its writer,
/// and some devices never end.
///
/// # Errors
/// When it cannot be read, is no regular file, or is larger than 1 MiB.
pub fn read(path: &Path) -> io::Result<String> {
    let regular = |is_file: bool| match is_file {
        true => Ok(()),
        false => Err(io::Error::other("it is no regular file")),
    };
    regular(std::fs::metadata(path)?.is_file())?;
    let file = File::open(path)?;
    regular(file.metadata()?.is_file())?;
    let mut text = String::new();
    file.take(MOST_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MOST_BYTES {
        return Err(io::Error::other(format!("it is larger than {} KiB", MOST_BYTES >> 10)));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink, process::Command};

    use super::*;

    #[test]
    fn only_regular_files_of_at_most_1_mib_are_read() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        fs::write(at("file.md"), "text").unwrap();
        symlink("file.md", at("link.md")).unwrap();
        assert_eq!(read(&at("link.md")).unwrap(), "text");

        assert!(Command::new("mkfifo").arg(at("pipe.md")).status().unwrap().success());
        symlink("/dev/zero", at("zero.md")).unwrap();
        fs::File::create(at("huge.md")).unwrap().set_len(1 << 40).unwrap();
        let why = |name: &str| read(&at(name)).unwrap_err().to_string();
        assert_eq!(why("pipe.md"), "it is no regular file");
        assert_eq!(why("zero.md"), "it is no regular file");
        assert_eq!(why("huge.md"), "it is larger than 1024 KiB");
    }
}
