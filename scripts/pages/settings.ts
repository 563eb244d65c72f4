import { apiSettings } from '@gwk/api/config/api';
import { commandSettings } from '@gwk/core/config/commands';
import { decoderSettings } from '@gwk/core/config/decoder';
import { engineSettings } from '@gwk/core/config/engine';
import type { Setting, Settings } from '@gwk/core/config/load';
import { localSettings } from '@gwk/core/config/local';
import { operatorSettings } from '@gwk/core/config/operator';
import { workerSettings } from '@gwk/api/config/worker';
import { renderTable } from './table.ts';

const PROGRAMS: Record<string, Settings> = {
  'gwk api': apiSettings,
  'gwk worker': workerSettings,
  'gwk decoder': decoderSettings,
  'gwk operator': operatorSettings,
  'gwk engine': engineSettings,
  'gwk local up': localSettings,
  'gwk account`, `key`, `user`, `policy`, `interactive-status`, `audit`, `encryption`, `after-restore`, `migrate':
    commandSettings,
};

/** Renders the tables of docs/configuration.md. */
export function renderSettings(): string {
  const sections = Object.entries(PROGRAMS).map(
    ([program, settings]) =>
      `## \`${program}\`\n\n${renderTable(['Variable', 'Default', 'Description'], Object.values(settings).map(row))}`,
  );
  return sections.join('\n');
}

function row({ env, kind, doc }: Setting): string[] {
  const absent = kind.read(undefined);
  return [`\`${env}\``, shown(absent.ok ? absent.value : REQUIRED), doc.replaceAll('|', '\\|')];
}

const REQUIRED = Symbol('required');

function shown(value: unknown): string {
  if (value === REQUIRED) return 'required';
  if (value === undefined || value === '' || (Array.isArray(value) && value.length === 0)) return 'none';
  if (typeof value === 'boolean') return value ? '`on`' : '`off`';
  return `\`${typeof value === 'object' ? JSON.stringify(value) : (value as string | number)}\``;
}
