//! Documents as files: one as Markdown, those of a project as an archive.

use std::{
    io::{self, Write},
    sync::{Arc, Mutex, PoisonError},
};

use crate::streams::Opened;
use axum::{
    body::{Body, Bytes},
    http::{
        HeaderName, HeaderValue,
        header::{CONTENT_DISPOSITION, CONTENT_TYPE},
    },
    response::{IntoResponse, Response},
};
use entourage_engine::{ExportedFile, ProjectExport};
use futures::stream;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use zip::{CompressionMethod, ZipWriter, write::SimpleFileOptions, write::StreamWriter};

/// A document as a file.
pub(super) fn markdown(file: ExportedFile) -> Response {
    let content_type = HeaderValue::from_static("text/markdown; charset=utf-8");
    ([(CONTENT_TYPE, content_type), attachment(&file.name)], file.content).into_response()
}

/// The documents of a project as an archive, each read when it is sent: a project may be larger than the memory. If the
/// store fails in between, the connection breaks off, so that no one takes a part for the whole.
pub(super) fn archive(export: ProjectExport, opened: Opened) -> Response {
    let name = format!("{}.zip", export.name);
    let written = Written::default();
    let writer = ZipWriter::new_stream(written.clone());
    let pieces = stream::unfold(Some((export, writer, written)), move |open| {
        // It counts among the long responses of its owner until it is sent.
        let _opened = &opened;
        async move {
            let (export, writer, written) = open?;
            match next_piece(export, writer, &written).await {
                Ok((piece, rest)) => {
                    Some((Ok(piece), rest.map(|(export, writer)| (export, writer, written))))
                }
                Err(error) => {
                    tracing::error!(%error, "an export breaks off");
                    Some((Err(error), None))
                }
            }
        }
    });
    let content_type = HeaderValue::from_static("application/zip");
    ([(CONTENT_TYPE, content_type), attachment(&name)], Body::from_stream(pieces)).into_response()
}

type Archive = ZipWriter<StreamWriter<Written>>;

/// Writes the next file, or the end, and returns what was written and what remains to be done.
async fn next_piece(
    mut export: ProjectExport,
    mut writer: Archive,
    written: &Written,
) -> io::Result<(Bytes, Option<(ProjectExport, Archive)>)> {
    let Some(file) = export.next().await.map_err(io::Error::other)? else {
        writer.finish()?;
        return Ok((written.take(), None));
    };
    // Texts are small, and a client can compress the archive.
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    writer.start_file(file.name, options)?;
    writer.write_all(file.content.as_bytes())?;
    Ok((written.take(), Some((export, writer))))
}

/// What the archive's writer has written and was not sent yet.
#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl Written {
    fn take(&self) -> Bytes {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner)).into()
    }
}

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What stands encoded in the name of a file in a header (RFC 8187).
const NOT_IN_NAMES: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The header that has a browser save the response under this name (RFC 6266): in ASCII for old clients, whole for
/// others.
fn attachment(name: &str) -> (HeaderName, HeaderValue) {
    let plain: String =
        name.chars().map(|c| if c.is_ascii() && !matches!(c, '"' | '\\' | '%') { c } else { '_' }).collect();
    let whole = utf8_percent_encode(name, NOT_IN_NAMES);
    let value = format!("attachment; filename=\"{plain}\"; filename*=UTF-8''{whole}");
    (CONTENT_DISPOSITION, HeaderValue::try_from(value).unwrap_or(HeaderValue::from_static("attachment")))
}
