import { renderSettings } from './settings.ts';
import { renderHealthRules } from './health.ts';
import { renderMetrics } from './metrics.ts';
import { renderPermissions } from './permissions.ts';
import { renderProblems } from './problems.ts';
import { renderRoles } from './roles.ts';

/** The pages of docs/ with tables from the code. */
export const GENERATED_PAGES: Readonly<Record<string, () => string>> = {
  'configuration.md': renderSettings,
  'console.md': renderRoles,
  'errors.md': renderProblems,
  'health.md': renderHealthRules,
  'metrics.md': renderMetrics,
  'permissions.md': renderPermissions,
};

/** Replaces the generated part of a page, between the two comments that also turn off its formatting. */
export function replaceGenerated(page: string, generated: string): string {
  return page.replace(
    /(<!-- prettier-ignore-start -->\n)[^]*(<!-- prettier-ignore-end -->)/,
    (_, start: string, end: string) => `${start}\n${generated}\n${end}`,
  );
}
