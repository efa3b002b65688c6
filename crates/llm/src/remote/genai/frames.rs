//! Whether a stream has begun, and whether every event of it could be read.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use genai::chat::{ChatFrameSink, FrameCtx, RawFrameRef};
use serde::de::IgnoredAny;

/// Looks at each event of one stream as it came over the wire.
#[derive(Debug, Default)]
pub(super) struct Frames {
    count: AtomicUsize,
    broken: AtomicBool,
    received: AtomicUsize,
}

impl Frames {
    /// How many of them have come.
    pub(super) fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    /// How many bytes came.
    pub(super) fn received(&self) -> usize {
        self.received.load(Ordering::Relaxed)
    }

    /// Whether one of them was no JSON.
    pub(super) fn broken(&self) -> bool {
        self.broken.load(Ordering::Relaxed)
    }
}

impl ChatFrameSink for Frames {
    fn on_frame(&self, _: &FrameCtx, frame: RawFrameRef<'_>) {
        self.count.fetch_add(1, Ordering::Relaxed);
        self.received.fetch_add(frame.data.len(), Ordering::Relaxed);
        let data = frame.data.trim();
        // The one event that never is, at the end of some streams.
        if data != "[DONE]" && serde_json::from_str::<IgnoredAny>(data).is_err() {
            self.broken.store(true, Ordering::Relaxed);
        }
    }
}
