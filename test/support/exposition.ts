/** Parsed response of `GET /metrics` (Prometheus text format). */
export class Exposition {
  /** Metric types by name, from `# TYPE`. */
  readonly types = new Map<string, string>();
  readonly samples: { name: string; labels: Record<string, string>; value: number }[] = [];

  constructor(text: string) {
    for (const line of text.split('\n')) {
      const type = /^# TYPE (\S+) (\S+)$/.exec(line);
      if (type) this.types.set(type[1]!, type[2]!);
      const sample = /^([a-z_]+)(?:\{(.*)\})? (\S+)$/i.exec(line);
      if (!sample) continue;
      const pairs = [...(sample[2] ?? '').matchAll(/([a-z_]+)="((?:[^"\\]|\\.)*)"/gi)];
      const labels = Object.fromEntries(pairs.map(([, name, value]) => [name!, value!]));
      this.samples.push({ name: sample[1]!, labels, value: Number(sample[3]) });
    }
  }

  static async of(port: number): Promise<Exposition> {
    const answer = await fetch(`http://127.0.0.1:${port}/metrics`);
    if (!answer.ok) throw new Error(`/metrics answers ${answer.status}`);
    return new Exposition(await answer.text());
  }

  /** Value of the only series that has at least these labels. */
  value(name: string, labels: Record<string, string> = {}): number | undefined {
    return this.samples.find(
      (sample) =>
        sample.name === name &&
        Object.entries(labels).every(([label, value]) => sample.labels[label] === value),
    )?.value;
  }

  /** Labels of the series of a metric, without those of its type (`le`). */
  labelsOf(name: string): Set<string> {
    const ofMetric = this.samples.filter(
      (sample) => sample.name.replace(/_(bucket|sum|count)$/, '') === name,
    );
    const own = this.samples.filter((sample) => sample.name === name);
    const names = [...ofMetric, ...own].flatMap(({ labels }) => Object.keys(labels));
    return new Set(names.filter((label) => label !== 'le'));
  }
}
