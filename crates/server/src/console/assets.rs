//! Scripts and styles, which are part of the program. The address of each contains the digest of all, so that browsers
//! keep them for good and never mix those of two versions.

use std::{borrow::Cow, sync::LazyLock};

use axum::{
    extract::Path,
    http::header::{CACHE_CONTROL, CONTENT_TYPE},
    response::{IntoResponse, Response},
};
use sha2::{Digest, Sha256};

use crate::{Problem, compression::IMMUTABLE};

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
    "drafts.js" "text/javascript; charset=utf-8";
    "edit.js" "text/javascript; charset=utf-8";
    "guard.js" "text/javascript; charset=utf-8";
    "keys.js" "text/javascript; charset=utf-8";
    "noscript.css" "text/css; charset=utf-8";
    "live.js" "text/javascript; charset=utf-8";
    "say.js" "text/javascript; charset=utf-8";
    "stream.js" "text/javascript; charset=utf-8";
    "times.js" "text/javascript; charset=utf-8";
    "unseen.js" "text/javascript; charset=utf-8";
    "icon.svg" "image/svg+xml";
    "vendor/htmx.min.js" "text/javascript; charset=utf-8";
}

impl Asset {
    /// The file as it travels: what explains our scripts to their readers stays here.
    fn served(&self) -> Cow<'static, [u8]> {
        let is_ours = self.name.ends_with(".js") && !self.name.starts_with("vendor/");
        match str::from_utf8(self.bytes) {
            Ok(text) if is_ours => {
                let kept = text.lines().filter(|line| !line.trim_start().starts_with("//"));
                Cow::Owned(kept.collect::<Vec<_>>().join("\n").into_bytes())
            }
            _ => Cow::Borrowed(self.bytes),
        }
    }
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
    let asset = found
        .ok_or_else(|| Problem::not_found("this version of the console has no such file: reload the page"))?;
    let headers = [(CONTENT_TYPE, asset.mime), (CACHE_CONTROL, IMMUTABLE)];
    Ok((headers, asset.served()).into_response())
}

#[cfg(test)]
mod tests {
    use axum::{Router, body::Body, http::Request, routing::get};
    use tower::ServiceExt as _;
    use tower_http::compression::CompressionLayer;

    use super::*;
    use crate::compression::LargeResponses;

    /// How much scripts and styles may be as they travel (`docs/console.md`).
    const MOST: usize = 32 << 10;

    #[tokio::test]
    async fn scripts_and_styles_are_small() {
        let served = Router::new()
            .route("/{digest}/{*name}", get(serve))
            .layer(CompressionLayer::new().compress_when(LargeResponses::default()));
        let mut bytes = 0;
        for Asset { name, .. } in ASSETS {
            let path = format!("/{}/{name}", digest());
            let request = Request::get(path).header("accept-encoding", "gzip").body(Body::empty()).unwrap();
            let response = served.clone().oneshot(request).await.unwrap();
            assert_eq!(response.headers()["content-encoding"], "gzip", "{name}");
            bytes += axum::body::to_bytes(response.into_body(), usize::MAX).await.unwrap().len();
        }
        assert!(bytes <= MOST, "{bytes} bytes are more than {MOST}");
    }
}
