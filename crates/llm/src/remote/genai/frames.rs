//! Whether a stream has begun, and whether every event of it could be read.

use std::sync::atomic::{AtomicBool, Ordering};

use genai::chat::{ChatFrameSink, FrameCtx, RawFrameRef};
use serde::de::IgnoredAny;

/// Looks at each event of one stream as it came over the wire.
#[derive(Debug, Default)]
pub(super) struct Frames {
    begun: AtomicBool,
    broken: AtomicBool,
}

impl Frames {
    /// Whether one of them has come.
    pub(super) fn begun(&self) -> bool {
        self.begun.load(Ordering::Relaxed)
    }

    /// Whether one of them was no JSON.
    pub(super) fn broken(&self) -> bool {
        self.broken.load(Ordering::Relaxed)
    }
}

impl ChatFrameSink for Frames {
    fn on_frame(&self, _: &FrameCtx, frame: RawFrameRef<'_>) {
        self.begun.store(true, Ordering::Relaxed);
        let data = frame.data.trim();
        // The one event that never is, at the end of some streams.
        if data != "[DONE]" && serde_json::from_str::<IgnoredAny>(data).is_err() {
            self.broken.store(true, Ordering::Relaxed);
        }
    }
}
