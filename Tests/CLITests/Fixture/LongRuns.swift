import LarderTestSupport
import Testing

extension Trait where Self == ConditionTrait {
    /// For tests that take long and have no repetitions: they run only if all are wanted.
    static var isLong: Self { .enabled(if: testShare == 1, "Scripts/test --all runs it") }
}
