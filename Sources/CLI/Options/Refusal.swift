import ArgumentParser

func refuse(if isWrong: Bool, _ message: @autoclosure () -> String) throws(ValidationError) {
    if isWrong { throw ValidationError(message()) }
}

func refuse(
    _ option: String, _ value: Int, outside limits: ClosedRange<Int>
) throws(ValidationError) {
    try refuse(
        if: !limits.contains(value),
        "\(option) must be from \(limits.lowerBound) to \(limits.upperBound).")
}

/// Calls `body`. Converts its errors to `ValidationError`.
func validated<Value>(
    _ message: (any Error) -> String, _ body: () throws -> Value
) throws(ValidationError) -> Value {
    do {
        return try body()
    } catch {
        throw ValidationError(message(error))
    }
}
