/// What carries a run's events.
typealias EventChannel = Channel<PrefetchEvent>
