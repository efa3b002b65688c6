//! The socket of a connection. Whoever holds it last, the HTTP server or what a request has upgraded the connection to,
//! the connection counts against its limits, is waited for when the server stops, and closes when it must.

use std::{
    io::{Error, ErrorKind, IoSlice, Result},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
};
use tokio_io_timeout::TimeoutStream;
use tokio_util::{sync::WaitForCancellationFutureOwned, task::task_tracker::TaskTrackerToken};

use crate::connections::Entered;

/// The socket of a connection that is registered until this is dropped.
pub(crate) struct CountedSocket {
    stream: Pin<Box<TimeoutStream<TcpStream>>>,
    gives_way: Pin<Box<WaitForCancellationFutureOwned>>,
    _entered: Arc<Entered>,
    _tracked: TaskTrackerToken,
}

impl CountedSocket {
    /// A socket that breaks off if the client reads nothing for so long while there is something to send: that frees
    /// what is held for it.
    pub(crate) fn new(
        stream: TcpStream,
        write_timeout: Duration,
        entered: Arc<Entered>,
        tracked: TaskTrackerToken,
    ) -> Self {
        let mut stream = TimeoutStream::new(stream);
        stream.set_write_timeout(Some(write_timeout));
        let gives_way = Box::pin(entered.must_give_way());
        Self { stream: Box::pin(stream), gives_way, _entered: entered, _tracked: tracked }
    }

    /// The stream; an error if the connection must close.
    fn open(&mut self, context: &mut Context<'_>) -> Result<Pin<&mut TimeoutStream<TcpStream>>> {
        match self.gives_way.as_mut().poll(context) {
            Poll::Ready(()) => Err(Error::from(ErrorKind::ConnectionAborted)),
            Poll::Pending => Ok(self.stream.as_mut()),
        }
    }
}

impl AsyncRead for CountedSocket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<Result<()>> {
        self.open(context)?.poll_read(context, buffer)
    }
}

impl AsyncWrite for CountedSocket {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<Result<usize>> {
        self.open(context)?.poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        self.open(context)?.poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        self.open(context)?.poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        self.open(context)?.poll_write_vectored(context, parts)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
