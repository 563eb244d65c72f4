import constantTime from './constant-time.js';
import workspaceImports from './workspace-imports.js';

/** The rules of this repository for oxlint.config.ts. */
export default {
  meta: { name: 'gwk' },
  rules: { 'constant-time': constantTime, 'workspace-imports': workspaceImports },
};
