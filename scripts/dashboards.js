// Writes the Grafana dashboards in charts/gwk/dashboards (make dashboards).
import { writeFileSync } from 'node:fs';
import { DASHBOARDS } from './dashboards/dashboards.js';

for (const [name, dashboard] of Object.entries(DASHBOARDS)) {
  const file = new URL(`../charts/gwk/dashboards/${name}.json`, import.meta.url);
  writeFileSync(file, `${JSON.stringify(dashboard, undefined, 2)}\n`);
}
