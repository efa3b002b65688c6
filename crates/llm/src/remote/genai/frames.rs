//! Whether every event of a stream could be read.

use std::sync::atomic::{AtomicBool, Ordering};

use genai::chat::{ChatFrameSink, FrameCtx, RawFrameRef};
use serde::de::IgnoredAny;

/// Looks at each event of one stream as it came over the wire.
#[derive(Debug, Default)]
pub(super) struct Frames {
    broken: AtomicBool,
}

impl Frames {
    /// Whether one of them was no JSON.
    pub(super) fn broken(&self) -> bool {
        self.broken.load(Ordering::Relaxed)
    }
}

impl ChatFrameSink for Frames {
    fn on_frame(&self, _: &FrameCtx, frame: RawFrameRef<'_>) {
        let data = frame.data.trim();
        // The one event that never is, at the end of some streams.
        if data != "[DONE]" && serde_json::from_str::<IgnoredAny>(data).is_err() {
            self.broken.store(true, Ordering::Relaxed);
        }
    }
}
