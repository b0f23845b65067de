/// Something with a time to wait for; what came first is first among equals.
struct Delayed<Value>: Comparable {
    let instant: ContinuousClock.Instant
    let serial: Int
    let value: Value

    static func == (left: Delayed, right: Delayed) -> Bool { left.serial == right.serial }

    static func < (left: Delayed, right: Delayed) -> Bool {
        (left.instant, left.serial) < (right.instant, right.serial)
    }
}
