//! The one binary.

mod cli;

fn main() -> std::process::ExitCode {
    cli::main()
}
