import { apiSettings } from './api.js';
import { commandSettings } from './commands.js';
import { engineSettings } from './engine.js';
import { instancesSettings } from './instances.js';
import type { Setting, Settings } from './load.js';
import { localSettings } from './local.js';
import { operatorSettings } from './operator.js';
import { workerSettings } from './worker.js';

const PROGRAMS: Record<string, Settings> = {
  'gwk api': apiSettings,
  'gwk worker': workerSettings,
  'gwk operator': operatorSettings,
  'gwk engine': engineSettings,
  'gwk instances': instancesSettings,
  'gwk local up': localSettings,
  'gwk account`, `key`, `policy`, `interactive-status`, `audit`, `encryption`, `after-restore`, `migrate':
    commandSettings,
};

/** Renders docs/configuration.md from the settings. */
export function renderConfigurationPage(): string {
  const sections = Object.entries(PROGRAMS).map(([program, settings]) => {
    const rows = Object.values(settings).map(row);
    return [
      `## \`${program}\``,
      '',
      '| Variable | Default | Description |',
      '| --- | --- | --- |',
      ...rows,
      '',
    ].join('\n');
  });
  return `${INTRODUCTION}\n${sections.join('\n')}\n${END}`;
}

const INTRODUCTION = `# Configuration

Generated from \`core/src/config\` by \`make docs\`; do not edit.

Every setting is an environment variable. \`NAME_FILE=/path\` instead of \`NAME=value\` reads the value from a file. A program exits at its start when a value is invalid, a required one is missing, or it does not know a \`GWK_\` variable. It lists all faults at once.
`;

const END = `\`gwk encryption\` also needs \`GWK_ENCRYPTION_KEYS\`, with the same value as the API.\n`;

function row(setting: Setting): string {
  const absent = setting.kind.read(undefined);
  const value = absent.ok ? absent.value : REQUIRED;
  return `| \`${setting.env}\` | ${shown(value)} | ${setting.doc.replaceAll('|', '\\|')} |`;
}

const REQUIRED = Symbol('required');

function shown(value: unknown): string {
  if (value === REQUIRED) return 'required';
  if (value === undefined || value === '' || (Array.isArray(value) && value.length === 0)) return 'none';
  if (typeof value === 'boolean') return value ? '`on`' : '`off`';
  return `\`${value as string | number}\``;
}
