//! Standard output, to the end of a command whoever reads it.

use std::io::{self, ErrorKind, Stdout, Write};

use oriole_ir::diagnostics::escape::escaped;

/// Standard output. A reader may leave early (`| head`): the command continues and writes to nowhere, so that its exit
/// code still says what was found.
pub struct Output {
    stdout: Stdout,
    is_closed: bool,
}

impl Default for Output {
    fn default() -> Output {
        Output { stdout: io::stdout(), is_closed: false }
    }
}

impl Output {
    /// What a write came to; nothing where nobody reads any more.
    fn tolerate<T>(&mut self, result: io::Result<T>, otherwise: T) -> io::Result<T> {
        match result {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                self.is_closed = true;
                Ok(otherwise)
            }
            result => result,
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.is_closed {
            return Ok(bytes.len());
        }
        let written = self.stdout.write(bytes);
        self.tolerate(written, bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.is_closed {
            return Ok(());
        }
        let flushed = self.stdout.flush();
        self.tolerate(flushed, ())
    }
}

/// Text whose hidden characters are shown, since it may come from somebody else. Each write must be whole text, as
/// those of `write!` are.
pub struct Visible<'a>(pub &'a mut dyn Write);

impl Write for Visible<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write_all(escaped(&String::from_utf8_lossy(bytes)).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// A file that may not grow further (`ulimit -f`) is an error of the write, and not the end of the process.
pub fn report_full_files() {
    #[cfg(unix)]
    // SAFETY: ignoring a signal installs no code.
    unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
    }
}
