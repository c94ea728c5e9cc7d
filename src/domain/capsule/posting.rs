//! Which capsules hold a token, and how they are packed.

/// The capsules that hold a token, and how often.
#[derive(Debug, Clone, Default)]
pub struct Posting {
    /// Numbers, rising.
    pub seqs: Vec<i64>,
    /// Beside each, how often.
    pub counts: Vec<i32>,
}

impl Posting {
    /// Leaves out some capsules.
    pub fn retain(&mut self, keep: impl Fn(i64) -> bool) {
        let kept = self.seqs.iter().zip(&self.counts).filter(|(seq, _)| keep(**seq));
        let (seqs, counts) = kept.map(|(seq, count)| (*seq, *count)).unzip();
        (self.seqs, self.counts) = (seqs, counts);
    }
}
