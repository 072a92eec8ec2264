//! Standard input: messages whose values fit in memory, and the end of input.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, ReadBuf};
use tokio::sync::Notify;

/// The number of values in one message: a parsed value takes up to 100 times its text, so the
/// length of a message is no bound of its memory.
const MAX_VALUES: usize = 500_000;

/// A reader that cuts messages with too many values, and signals the end of its input. A message
/// that was cut is no JSON: it is dropped, as one that is too long.
pub(super) struct BoundedInput<R> {
    read: R,
    ended: Arc<Notify>,
    message: Message,
}

/// What was read of the present message.
#[derive(Debug, Default)]
struct Message {
    values: usize,
    in_string: bool,
    after_backslash: bool,
}

impl<R> BoundedInput<R> {
    pub(super) fn new(read: R, ended: Arc<Notify>) -> BoundedInput<R> {
        BoundedInput { read, ended, message: Message::default() }
    }
}

impl Message {
    /// Replaces by spaces what follows too many values, up to the end of the line.
    fn cut(&mut self, bytes: &mut [u8]) {
        for byte in bytes {
            if *byte == b'\n' {
                *self = Message::default();
                continue;
            }
            if self.values > MAX_VALUES {
                *byte = b' ';
            } else if self.in_string {
                let ends = *byte == b'"' && !self.after_backslash;
                self.after_backslash = *byte == b'\\' && !self.after_backslash;
                self.in_string = !ends;
            } else {
                match *byte {
                    b'"' => self.in_string = true,
                    b',' | b'[' | b'{' => self.values += 1,
                    _ => {}
                }
            }
        }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for BoundedInput<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        task: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.read).poll_read(task, buffer);
        let new = &mut buffer.filled_mut()[before..];
        if matches!(read, Poll::Ready(_)) && new.is_empty() {
            self.ended.notify_one();
        }
        self.message.cut(new);
        read
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(pieces: &[&str]) -> String {
        let mut message = Message::default();
        let pieces = pieces.iter().map(|piece| {
            let mut bytes = piece.as_bytes().to_vec();
            message.cut(&mut bytes);
            String::from_utf8(bytes).unwrap()
        });
        pieces.collect()
    }

    #[test]
    fn a_message_with_many_values_is_cut_and_the_next_one_is_not() {
        let many = format!("[{}]\n", ["[]"].repeat(MAX_VALUES).join(","));
        let found = cut(&[&many, "{\"a\": 1}\n"]);
        let (first, second) = found.split_once('\n').unwrap();
        assert!(first.ends_with("     ") && first.len() == many.len() - 1);
        assert_eq!(second, "{\"a\": 1}\n");
    }

    #[test]
    fn text_in_strings_is_not_counted() {
        let text = format!("{{\"text\": \"{}\\\"[\", \"b\": 1}}\n", "[,".repeat(MAX_VALUES));
        let (start, end) = text.split_at(text.len() / 2);
        assert_eq!(cut(&[start, end]), text);
    }
}
