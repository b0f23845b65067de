/// How one contender did over all rounds.
struct Standing {
    let contender: String
    let wall: Spread
    let user: Spread
    let system: Spread
    let peak: Spread
    /// Its time over the fastest peer's in the same round; nil where there is no peer.
    let ratio: Spread?

    /// The program that the others are peers of.
    static let subject = "larder"
}
