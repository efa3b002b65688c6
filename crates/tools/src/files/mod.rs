//! Tools that read one directory, which the operator names, and nothing outside it.

mod confine;
mod entries;
mod list_files;
mod nearby;
mod read_file;
mod secret;
mod settings;

pub use confine::Files;
pub use list_files::ListFiles;
pub use read_file::ReadFile;
pub use settings::FilesSettings;
