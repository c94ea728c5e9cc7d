//! The protocol on standard input and output: one message a line.
//!
//! The SDK's own reader would parse the arguments of a call, drop what it cannot parse without an answer, and stop
//! waiting for answers some seconds after the input ends. Here a line that is no message is answered with an error, and
//! the end of the input is passed on when the last request has its answer.

use crate::arguments::{id_of, lift};
use crate::options::Options;
use crate::server::MemoryServer;
use crate::turns::Turns;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ErrorCode, ErrorData, GetExtensions, JsonRpcMessage, RequestId,
    ServerJsonRpcMessage,
};
use rmcp::service::{RoleServer, serve_server};
use rmcp::transport::Transport;
use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex as Lock};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::{Mutex, Notify, mpsc};
use tokio::task::JoinHandle;

/// The longest line. The database refuses arguments long before; this is what protects our own memory.
const MAX_LINE: usize = 256 << 20;

/// Serves until the input ends and everything asked is answered.
pub async fn serve(server: MemoryServer, options: &Options) -> Result<(), String> {
    let patience = options.timeout + Duration::from_secs(5);
    let transport = Lines::new(tokio::io::stdin(), tokio::io::stdout(), patience);
    match serve_server(server, transport).await {
        Ok(running) => running.waiting().await.map(|_| ()).map_err(|error| error.to_string()),
        // A client that left before it said anything.
        Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => Ok(()),
        Err(error) => Err(format!("the client began with something else than MCP: {error}")),
    }
}

/// The requests that have no answer yet.
#[derive(Default)]
struct Open {
    ids: Lock<HashMap<RequestId, usize>>,
    answered: Notify,
}

impl Open {
    fn asked(&self, id: &RequestId) {
        if let Ok(mut ids) = self.ids.lock() {
            *ids.entry(id.clone()).or_default() += 1;
        }
    }

    fn answered(&self, id: &RequestId) {
        if let Ok(mut ids) = self.ids.lock() {
            ids.remove(id);
        }
        self.answered.notify_waiters();
    }

    async fn all_answered(&self) {
        loop {
            let answered = self.answered.notified();
            if self.ids.lock().map_or(true, |ids| ids.is_empty()) {
                return;
            }
            answered.await;
        }
    }
}

/// What is wrong with a line, and whose it was as far as that can be told.
struct Complaint {
    code: ErrorCode,
    message: String,
    id: Option<RequestId>,
}

struct Lines<W> {
    lines: mpsc::Receiver<Vec<u8>>,
    output: Arc<Mutex<W>>,
    open: Arc<Open>,
    turns: Turns,
    patience: Duration,
    /// The answer to a line that was no message, on its way: in a task, for receiving is given up and taken up again.
    complaint: Option<JoinHandle<io::Result<()>>>,
}

impl<W: AsyncWrite + Unpin + Send + 'static> Lines<W> {
    fn new(input: impl AsyncRead + Unpin + Send + 'static, output: W, patience: Duration) -> Self {
        // A reader of its own, for receiving is given up and taken up again whenever an answer is ready.
        let (sender, lines) = mpsc::channel(64);
        tokio::spawn(read_lines(BufReader::with_capacity(64 << 10, input), sender));
        Self {
            lines,
            output: Arc::new(Mutex::new(output)),
            open: Arc::default(),
            turns: Turns::default(),
            patience,
            complaint: None,
        }
    }

    fn read(&mut self, line: &[u8]) -> Result<ClientJsonRpcMessage, Complaint> {
        let complain = |code, message: String, id| Err(Complaint { code, message, id });
        let Ok(text) = std::str::from_utf8(line) else {
            return complain(ErrorCode::PARSE_ERROR, "the line is not UTF-8".into(), None);
        };
        if line.len() >= MAX_LINE {
            let message = format!("the line is longer than {MAX_LINE} bytes");
            return complain(ErrorCode::INVALID_REQUEST, message, None);
        }
        let (rest, arguments) = lift(text);
        match serde_json::from_str::<ClientJsonRpcMessage>(&rest) {
            Ok(mut message) => {
                match &mut message {
                    JsonRpcMessage::Request(request) => {
                        self.open.asked(&request.id);
                        request.request.extensions_mut().insert(self.turns.take());
                        if let Some(arguments) = arguments {
                            request.request.extensions_mut().insert(arguments);
                        }
                    }
                    JsonRpcMessage::Notification(notification) => {
                        // A request that is cancelled gets no answer.
                        if let ClientNotification::CancelledNotification(cancelled) =
                            &notification.notification
                            && let Some(id) = &cancelled.params.request_id
                        {
                            self.open.answered(id);
                        }
                    }
                    _ => {}
                }
                Ok(message)
            }
            Err(error) if error.is_data() => {
                complain(ErrorCode::INVALID_REQUEST, format!("no message of MCP: {error}"), id_of(text))
            }
            Err(error) => complain(ErrorCode::PARSE_ERROR, format!("no JSON: {error}"), id_of(text)),
        }
    }
}

async fn read_lines(mut input: BufReader<impl AsyncRead + Unpin>, lines: mpsc::Sender<Vec<u8>>) {
    loop {
        let mut line = Vec::new();
        match read_line(&mut input, &mut line).await {
            Ok(false) if line.is_empty() => return,
            Ok(more) => {
                if !line.iter().all(u8::is_ascii_whitespace) && lines.send(line).await.is_err() {
                    return;
                }
                if !more {
                    return;
                }
            }
            Err(error) => {
                crate::log::line(&format!("standard input cannot be read: {error}"));
                return;
            }
        }
    }
}

/// Reads up to the next line feed, keeping [`MAX_LINE`] bytes at most; false at the end of the input.
async fn read_line(input: &mut BufReader<impl AsyncRead + Unpin>, line: &mut Vec<u8>) -> io::Result<bool> {
    loop {
        let available = input.fill_buf().await?;
        if available.is_empty() {
            return Ok(false);
        }
        let end = available.iter().position(|byte| *byte == b'\n');
        let piece = end.unwrap_or(available.len());
        let room = MAX_LINE.saturating_sub(line.len()).min(piece);
        line.extend_from_slice(&available[..room]);
        input.consume(end.map_or(piece, |end| end + 1));
        if end.is_some() {
            return Ok(true);
        }
    }
}

/// One message as one line.
async fn write<W: AsyncWrite + Unpin>(output: &Mutex<W>, message: &ServerJsonRpcMessage) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    let mut output = output.lock().await;
    output.write_all(&line).await?;
    output.flush().await
}

impl<W: AsyncWrite + Unpin + Send + 'static> Transport<RoleServer> for Lines<W> {
    type Error = io::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        let (output, open) = (Arc::clone(&self.output), Arc::clone(&self.open));
        async move {
            let written = write(&output, &message).await;
            match &message {
                JsonRpcMessage::Response(response) => open.answered(&response.id),
                JsonRpcMessage::Error(error) => {
                    if let Some(id) = &error.id {
                        open.answered(id);
                    }
                }
                _ => {}
            }
            written
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            if let Some(complaint) = &mut self.complaint {
                let _ = complaint.await;
                self.complaint = None;
            }
            let Some(line) = self.lines.recv().await else {
                let _ = tokio::time::timeout(self.patience, self.open.all_answered()).await;
                return None;
            };
            match self.read(&line) {
                Ok(message) => return Some(message),
                Err(Complaint { code, message, id }) => {
                    let complaint = ServerJsonRpcMessage::error(ErrorData::new(code, message, None), id);
                    let output = Arc::clone(&self.output);
                    self.complaint = Some(tokio::spawn(async move { write(&output, &complaint).await }));
                }
            }
        }
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        self.output.lock().await.flush().await
    }
}
