import LarderCache

#if os(Linux)
    import LarderCache

    /// Where Linux tells of memory pressure.
    package struct PressureFiles: Sendable {
        /// The kernel's pressure stall information about memory.
        package var stalls = "/proc/pressure/memory"
        /// The directory of this process's control group; nil if it has none.
        package var controlGroup = ControlGroup.own()
        /// Reports come at most once in that time.
        package var interval = Duration.seconds(2)

        package init() {}
    }

    extension MemoryPressure {
        /// Watches those files from now on, as far as they can be.
        package func watch(_ files: PressureFiles) {
            var inputs: [any PressureInput] = []
            func add(_ name: String, _ input: () throws(CacheError) -> any PressureInput) {
                do {
                    inputs.append(try input())
                    note(name, nil)
                } catch {
                    note(name, error)
                }
            }
            for stall in StallTrigger.Stall.allCases {
                add("\(files.stalls) \(stall.rawValue)") { () throws(CacheError) in
                    try StallTrigger(stall, files.stalls)
                }
            }
            if let group = files.controlGroup {
                add("\(group)/memory.events") { () throws(CacheError) in
                    try MemoryEvents(of: group)
                }
            } else {
                note(
                    "memory.events",
                    CacheError(
                        .missing, subject: "memory.events",
                        message: "this process has no control group of version 2"))
            }
            watch(inputs, interval: files.interval)
        }

        /// Watches inputs that are already open.
        package func watch(_ inputs: [any PressureInput], interval: Duration) {
            guard !inputs.isEmpty else { return }
            do {
                keep(
                    try PressureWatch(
                        inputs, interval: interval,
                        report: { [weak self] in self?.report($0) },
                        lose: { [weak self] in self?.note($0, $1) }))
            } catch {
                for input in inputs { note(input.name, error) }
            }
        }
    }
#endif
