/** The layers of api/src, from the entry points down. A folder imports its own layer and those below. */
const API_LAYERS = [
  ['cli', 'programs'],
  ['public-api', 'internal-api', 'openapi', 'probes', 'jobs'],
  [
    'messages',
    'inbound',
    'instances',
    'webhooks',
    'media',
    'contacts',
    'events',
    'engines',
    'console',
    'alerts',
    'client-version',
  ],
  ['http'],
  ['accounts'],
  ['platform', 'mail'],
  ['database'],
];
const FEATURES = API_LAYERS[2];
/** Folders inside a feature that other features may not import. */
const INSIDES =
  'messages/(send|edit|interactive-status)|webhooks/delivery|media/(prepare|tools)|instances/(availability|health)';

const inApi = (folders) => `^api/src/(${folders.join('|')})(/|\\.ts$)`;

/** @type {import('dependency-cruiser').IConfiguration} */
export default {
  forbidden: [
    {
      name: 'no-cycles',
      comment: 'Files that import each other, also by types alone, have no reading order.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    ...API_LAYERS.slice(1).map((layer, index) => ({
      name: `api-layer-${layer[0]}`,
      comment: `${layer.join(', ')} may not import a layer above them.`,
      severity: 'error',
      from: { path: inApi(layer) },
      to: { path: inApi(API_LAYERS.slice(0, index + 1).flat()) },
    })),
    {
      name: 'api-feature-insides',
      comment: 'A feature imports the files of another feature that stand at its top.',
      severity: 'error',
      from: { path: `^api/src/(${FEATURES.join('|')})/` },
      to: { path: `^api/src/(${INSIDES})/`, pathNot: '^api/src/$1/' },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules|/dist/' },
    exclude: { path: '/generated/|\\.test\\.ts$|\\.d\\.ts$' },
    tsPreCompilationDeps: true,
    enhancedResolveOptions: { extensions: ['.ts', '.tsx', '.js'] },
  },
};
