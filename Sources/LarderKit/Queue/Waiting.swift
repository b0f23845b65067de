/// Something with a time to wait for; what came first is first among equals.
struct Waiting<Value>: Comparable {
    let instant: ContinuousClock.Instant
    let serial: Int
    let value: Value

    static func == (left: Waiting, right: Waiting) -> Bool { left.serial == right.serial }

    static func < (left: Waiting, right: Waiting) -> Bool {
        (left.instant, left.serial) < (right.instant, right.serial)
    }
}
