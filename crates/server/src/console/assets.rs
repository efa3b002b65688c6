//! Scripts and styles, which are part of the program. The address of each contains the digest of all, so that browsers
//! keep them for good and never mix those of two versions.

use std::sync::LazyLock;

use axum::{
    extract::Path,
    http::header::{CACHE_CONTROL, CONTENT_TYPE},
    response::{IntoResponse, Response},
};
use sha2::{Digest, Sha256};

use crate::Problem;

/// A file that pages load.
struct Asset {
    name: &'static str,
    mime: &'static str,
    bytes: &'static [u8],
}

macro_rules! assets {
    ($($name:literal $mime:literal;)+) => {
        const ASSETS: &[Asset] = &[$(Asset {
            name: $name,
            mime: $mime,
            bytes: include_bytes!(concat!("../../assets/", $name)),
        }),+];
    };
}

assets! {
    "console.css" "text/css; charset=utf-8";
    "console.js" "text/javascript; charset=utf-8";
    "act.js" "text/javascript; charset=utf-8";
    "guard.js" "text/javascript; charset=utf-8";
    "keys.js" "text/javascript; charset=utf-8";
    "noscript.css" "text/css; charset=utf-8";
    "live.js" "text/javascript; charset=utf-8";
    "say.js" "text/javascript; charset=utf-8";
    "stream.js" "text/javascript; charset=utf-8";
    "times.js" "text/javascript; charset=utf-8";
    "icon.svg" "image/svg+xml";
    "vendor/htmx.min.js" "text/javascript; charset=utf-8";
}

/// The digest of all assets, by which a page finds out that the server has others.
pub(crate) fn digest() -> &'static str {
    static DIGEST: LazyLock<String> = LazyLock::new(|| {
        let mut hash = Sha256::new();
        for Asset { name, bytes, .. } in ASSETS {
            // Lengths keep the parts apart.
            hash.update(name.len().to_be_bytes());
            hash.update(name);
            hash.update(bytes.len().to_be_bytes());
            hash.update(bytes);
        }
        hash.finalize()[..8].iter().map(|byte| format!("{byte:02x}")).collect()
    });
    &DIGEST
}

/// The response with an asset.
pub(super) async fn serve(Path((given, name)): Path<(String, String)>) -> Result<Response, Problem> {
    let found = ASSETS.iter().find(|asset| asset.name == name).filter(|_| given == digest());
    let Asset { mime, bytes, .. } = found
        .ok_or_else(|| Problem::not_found("this version of the console has no such file: reload the page"))?;
    let headers = [(CONTENT_TYPE, *mime), (CACHE_CONTROL, "public, max-age=31536000, immutable")];
    Ok((headers, *bytes).into_response())
}
