#if canImport(Darwin)
    import Foundation

    /// Apple's source of memory pressure.
    final class DispatchWatch: @unchecked Sendable {
        // Unchecked because dispatch sources are not marked; this one is only set up and cancelled.
        private let source: any DispatchSourceMemoryPressure

        init(of pressure: MemoryPressure) {
            let queue = DispatchQueue(label: "larder.pressure")
            source = DispatchSource.makeMemoryPressureSource(eventMask: .all, queue: queue)
            // Weak, both: the source keeps its handler, and `pressure` keeps the source.
            source.setEventHandler { [weak source, weak pressure] in
                guard let event = source?.data else { return }
                pressure?.report(
                    event.contains(.critical)
                        ? .critical : event.contains(.warning) ? .warning : .normal)
            }
            source.activate()
            pressure.note("DispatchSourceMemoryPressure", nil)
        }

        deinit { source.cancel() }
    }
#endif
