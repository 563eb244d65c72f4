/**
 * The workspaces that a file imports, by package name or by path, also in `import()` and types. Options: the allowed
 * workspaces.
 */
const WORKSPACES = [
  'core',
  'api',
  'decoder',
  'operator',
  'engine-pod',
  'local',
  'cli',
  'console',
  'network',
  'test',
];
const BY_NAME = /^@gwk\/([^/]+)/;
const BY_PATH = new RegExp(`^(?:\\.\\./)+(?:(${WORKSPACES.join('|')})/src|(test)/support)/`);

function findWorkspace(specifier) {
  const [, byName] = BY_NAME.exec(specifier) ?? [];
  const [, byPath, test] = BY_PATH.exec(specifier) ?? [];
  return byName ?? byPath ?? test;
}

export default {
  meta: {
    type: 'problem',
    docs: { description: 'import only the allowed workspaces' },
    messages: {
      foreign: '{{ workspace }} may not be imported here. Other workspaces that may: {{ allowed }}',
      path: 'import other workspaces by name: @gwk/{{ workspace }}/...',
    },
    schema: [{ type: 'array', items: { type: 'string' } }],
  },
  create(context) {
    const [allowed = []] = context.options;
    const check = ({ source }) => {
      if (typeof source?.value !== 'string') return;
      const workspace = findWorkspace(source.value);
      if (workspace === undefined) return;
      const isAllowed = allowed.includes(workspace);
      if (isAllowed && BY_NAME.test(source.value)) return;
      const data = { workspace, allowed: allowed.join(', ') || 'none' };
      context.report({ node: source, messageId: isAllowed ? 'path' : 'foreign', data });
    };
    return {
      ImportDeclaration: check,
      ImportExpression: check,
      ExportNamedDeclaration: check,
      ExportAllDeclaration: check,
      TSImportType: check,
    };
  },
};
