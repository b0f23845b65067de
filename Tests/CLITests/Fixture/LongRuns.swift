import LarderTestSupport
import Testing

extension Trait where Self == ConditionTrait {
    /// For long tests that cannot be shortened by running a share of their cases.
    static var isLong: Self { .enabled(if: testShare == 1, "Scripts/test --all runs it") }
}
