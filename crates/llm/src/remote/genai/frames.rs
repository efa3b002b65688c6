//! Observes whether a stream has begun, and whether each of its events is valid JSON.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use genai::chat::{ChatFrameSink, FrameCtx, RawFrameRef};
use serde::de::IgnoredAny;

/// Inspects each raw event of one stream.
#[derive(Debug, Default)]
pub(super) struct Frames {
    count: AtomicUsize,
    broken: AtomicBool,
    received: AtomicUsize,
}

impl Frames {
    /// Returns the number of events so far.
    pub(super) fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    /// Returns the number of bytes so far.
    pub(super) fn received(&self) -> usize {
        self.received.load(Ordering::Relaxed)
    }

    /// Whether an event was not valid JSON.
    pub(super) fn broken(&self) -> bool {
        self.broken.load(Ordering::Relaxed)
    }
}

impl ChatFrameSink for Frames {
    fn on_frame(&self, _: &FrameCtx, frame: RawFrameRef<'_>) {
        self.count.fetch_add(1, Ordering::Relaxed);
        self.received.fetch_add(frame.data.len(), Ordering::Relaxed);
        let data = frame.data.trim();
        // The only event that is not JSON, at the end of some streams.
        if data != "[DONE]" && serde_json::from_str::<IgnoredAny>(data).is_err() {
            self.broken.store(true, Ordering::Relaxed);
        }
    }
}
