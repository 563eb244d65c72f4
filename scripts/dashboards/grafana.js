// Converts rows of panels to the JSON that Grafana imports.

const COLUMNS = 24;
const HEIGHT = 8;
const SOURCE = { type: 'prometheus', uid: '${datasource}' };

/** A time series panel. @param {object} queries by legend @param {object} [look] its `fieldConfig.defaults` */
export const timeseries = (title, queries, look = {}) => ({ type: 'timeseries', title, queries, look });

/** A panel with the current value. */
export const stat = (title, query, look = {}) => ({ type: 'stat', title, queries: { '': query }, look });

/** @param rows arrays of panels; the panels of a row share the width of the page */
export function dashboard({ uid, title, description, variables, rows }) {
  let id = 0;
  const panels = rows.flatMap((row, index) => {
    const w = Math.floor(COLUMNS / row.length);
    return row.map((panel, place) => ({
      ...renderPanel(panel),
      id: (id += 1),
      gridPos: { x: place * w, y: index * HEIGHT, w, h: HEIGHT },
    }));
  });
  return {
    uid,
    title,
    description,
    tags: ['gwk'],
    schemaVersion: 39,
    editable: true,
    refresh: '30s',
    time: { from: 'now-6h', to: 'now' },
    templating: { list: [DATA_SOURCE, ...variables.map(variable)] },
    panels,
  };
}

const DATA_SOURCE = { name: 'datasource', label: 'Data source', type: 'datasource', query: 'prometheus' };

/** @param any regular expression that "All" stands for; by default "All" lists the offered values */
function variable({ name, label, query, all = false, any }) {
  return {
    name,
    label,
    type: 'query',
    datasource: SOURCE,
    query: { query, refId: name },
    refresh: 2,
    sort: 1,
    includeAll: all,
    multi: all,
    ...(any && { allValue: any }),
    ...(all && { current: { text: 'All', value: '$__all' } }),
  };
}

function renderPanel({ type, title, queries, look }) {
  return {
    type,
    title,
    datasource: SOURCE,
    fieldConfig: { defaults: look, overrides: [] },
    options: type === 'stat' ? { reduceOptions: { calcs: ['lastNotNull'] } } : { tooltip: { mode: 'multi' } },
    targets: Object.entries(queries).map(([legendFormat, expr], index) => ({
      refId: String.fromCharCode('A'.charCodeAt(0) + index),
      datasource: SOURCE,
      expr,
      ...(legendFormat && { legendFormat }),
    })),
  };
}

export const SECONDS = { unit: 's' };
export const BYTES = { unit: 'bytes' };
export const PER_SECOND = { unit: 'ops' };
/** Red from 1 on. */
export const RED_FROM_1 = {
  thresholds: {
    mode: 'absolute',
    steps: [
      { color: 'green', value: null },
      { color: 'red', value: 1 },
    ],
  },
};

/** @param {string} histogram metric name without suffix @param {string} [among] PromQL that narrows its series down */
export const quantile = (share, histogram, selector, among = '') =>
  `histogram_quantile(${share}, sum by (le) (rate(${histogram}_bucket${selector}[5m])${among}))`;
