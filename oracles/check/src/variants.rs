//! Variants of a launch: random data that go as far from the launch's own as the kernel lets them.
//!
//! [`Launch::randomized`] keeps what a kernel may rely on: buffers of zeros, which may be cleared accumulators and
//! flags, and integers passed by value, which in practice are sizes. A kernel whose data are all of that kind would run
//! on the same data each time. So every other variant, and each one where nothing else varies, draws these, too
//! ([`Launch::varied`]):
//!
//! 1. All of them freely. That the original still does its work decides whether the variant counts: it finishes within
//!    twice the steps of the launch's own data, and takes at least half of them, since a size of zero shows nothing.
//! 2. Where it does not, each argument is tried alone, freely and then near its own value, to learn which ones can be
//!    another, and how far. That is done once a launch, and ends early where it takes long.
//! 3. Then with what was learned, once without integers, which other seeds may draw too large; and last as
//!    [`Launch::randomized`] does.
//!
//! Cost: a run for each try; three times the launch's own steps and some thousand at most for what is learned.

use oriole_interp::RunResult;
use oriole_launch::{ArgValue, Freedom, Launch};

use crate::CheckError;
use crate::judge::inconclusive;

/// Steps that every try may take, however short the launch.
const SHORT: u64 = 20_000;
/// How many arguments are tried alone.
const MAX_ALONE: usize = 12;

/// Runs the original on a launch, within so many steps.
pub type Run<'r> = dyn FnMut(&Launch, u64) -> Result<RunResult, CheckError> + 'r;

/// The variants of a launch.
pub struct Variants<'l> {
    launch: &'l Launch,
    /// How far each argument may go that would stay otherwise.
    freedom: Vec<(usize, Freedom)>,
    /// Whether that was learned, and is not only hoped.
    is_learned: bool,
    /// Whether other data vary as well.
    has_others: bool,
    /// Steps that the launch's own data take.
    own: u64,
    /// Steps that tries have taken.
    spent: u64,
}

impl<'l> Variants<'l> {
    /// Those of a launch on which the original takes so many steps.
    pub fn of(launch: &'l Launch, own: u64) -> Variants<'l> {
        let freedom: Vec<_> = launch.kept().into_iter().map(|index| (index, Freedom::Any)).collect();
        let has_others = freedom.is_empty() || !launch.randomized(0).has_data_of(launch);
        Variants { launch, freedom, is_learned: false, has_others, own, spent: 0 }
    }

    /// A variant that draws what otherwise stays, with the run of the original on it; `None` where the variant of this
    /// number, counted from 0, draws nothing but the rest, or the kernel lets nothing else be drawn.
    ///
    /// # Errors
    ///
    /// Those of `run`.
    pub fn draw(
        &mut self,
        number: u64,
        seed: u64,
        run: &mut Run<'_>,
    ) -> Result<Option<(Launch, RunResult)>, CheckError> {
        if self.freedom.is_empty() || self.has_others && !number.is_multiple_of(2) {
            return Ok(None);
        }
        let hoped = self.freedom.clone();
        if let Some(found) = self.attempt(seed, &hoped, run)? {
            return Ok(Some(found));
        }
        if !self.is_learned {
            self.learn(seed, run)?;
            let learned = self.freedom.clone();
            if learned != hoped
                && let Some(found) = self.attempt(seed, &learned, run)?
            {
                return Ok(Some(found));
            }
        }
        let is_number = |index: usize| matches!(self.launch.args[index].value, ArgValue::Scalar(_));
        let without: Vec<_> = self.freedom.iter().copied().filter(|(index, _)| !is_number(*index)).collect();
        if without.len() == self.freedom.len() { Ok(None) } else { self.attempt(seed, &without, run) }
    }

    /// Tries each argument alone. What comes after the steps are spent stays.
    fn learn(&mut self, seed: u64, run: &mut Run<'_>) -> Result<(), CheckError> {
        self.is_learned = true;
        let limit = self.spent + 3 * self.own + SHORT;
        for at in 0..self.freedom.len() {
            let index = self.freedom[at].0;
            self.freedom[at].1 = Freedom::Kept;
            for freedom in [Freedom::Any, Freedom::Near] {
                if at >= MAX_ALONE || self.spent >= limit {
                    break;
                }
                if self.attempt(seed, &[(index, freedom)], run)?.is_some() {
                    self.freedom[at].1 = freedom;
                    break;
                }
            }
        }
        Ok(())
    }

    /// A variant that is drawn so, if the original still does its work.
    fn attempt(
        &mut self,
        seed: u64,
        freedom: &[(usize, Freedom)],
        run: &mut Run<'_>,
    ) -> Result<Option<(Launch, RunResult)>, CheckError> {
        if freedom.iter().all(|(_, freedom)| *freedom == Freedom::Kept) {
            return Ok(None);
        }
        let varied = self.launch.varied(seed, freedom);
        let result = run(&varied, 2 * self.own + SHORT)?;
        self.spent += result.steps;
        let is_work = inconclusive(&result).is_none() && 2 * result.steps >= self.own;
        Ok(is_work.then_some((varied, result)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use oriole_interp::{Executable, RunOptions};
    use oriole_launch::command_line;

    /// Thread `t` stores `data[t] + n` where `t < n`, in an entry of a table that is as long as the launch says.
    const KERNEL: &str = "\
target sm_90 ptx 9.0

entry @k visible ssa {
  param $out: u64 param align 8
  param $data: u64 param align 8
  param $index: u64 param align 8
  param $n: u32 param align 4
bb0:
  %d0 = ld.param.u64 [$out]
  %d1 = ld.param.u64 [$data]
  %d2 = ld.param.u64 [$index]
  %r3 = ld.param.u32 [$n]
  %r4 = s2r.b32 sr.tid.x
  %p5 = setp.lt.u32 %r4, %r3
  cbra %p5, bb1, bb2
bb1:
  %d6 = imad.wide.u32 %r4, 4, %d1
  %r7 = ld.global.u32 [%d6]
  %d8 = imad.wide.u32 %r4, 4, %d2
  %r9 = ld.global.u32 [%d8]
  %d10 = imad.wide.u32 %r9, 4, %d0
  %r11 = iadd.u32 %r7, %r3
  st.global.u32 [%d10], %r11
  bra bb2
bb2:
  ret
}
";

    /// The variants of seeds from 0 on.
    fn drawn(arguments: [&str; 4]) -> Vec<Option<Launch>> {
        let module = oriole_ir::parse_module(KERNEL).expect("the kernel reads");
        let executable = Executable::new(&module).expect("the kernel loads");
        let launch = command_line::launch(None, "1", "32", &arguments.map(str::to_owned)).expect("it is well-formed");
        let mut run = |launch: &Launch, steps| {
            let options = RunOptions { steps: Some(steps), ..RunOptions::default() };
            Ok(executable.run(launch, &options).expect("the launch fits"))
        };
        let own = run(&launch, 1_000_000).expect("it runs");
        let mut variants = Variants::of(&launch, own.steps);
        (0..6).map(|number| variants.draw(number, number, &mut run).expect("it runs").map(|drawn| drawn.0)).collect()
    }

    /// The table has room for the numbers that are near zero alone, and the number of threads must not grow: the buffer
    /// of data ends there.
    #[test]
    fn each_argument_goes_as_far_as_the_kernel_lets_it() {
        let drawn = drawn(["random:1:16", "zeroed:128:type=u32", "zeroed:128:type=u32", "u32:32"]);
        let drawn: Vec<&Launch> = drawn.iter().flatten().collect();
        assert!(drawn.len() == 3, "the buffer at the beginning varies by itself");
        let content = |launch: &Launch, argument: usize| match &launch.args[argument].value {
            ArgValue::Buffer(buffer) => {
                buffer.bytes.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().expect("a word"))).collect()
            }
            _ => Vec::new(),
        };
        assert!(drawn.iter().any(|launch| content(launch, 1).iter().any(|word| *word > 1 << 20)));
        assert!(drawn.iter().all(|launch| content(launch, 2).iter().all(|word| *word < 4)));
        assert!(drawn.iter().any(|launch| content(launch, 2).iter().any(|word| *word > 0)));
        assert_eq!(oriole_launch::distinct(drawn), 3);
    }

    #[test]
    fn where_nothing_else_varies_each_variant_does() {
        let drawn = drawn(["zeroed:128", "zeroed:128", "zeroed:128", "u32:32"]);
        assert_eq!(drawn.iter().flatten().count(), 6);
        assert_eq!(oriole_launch::distinct(drawn.iter().flatten()), 6);
    }
}
