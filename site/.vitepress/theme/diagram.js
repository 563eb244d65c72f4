import { useData, withBase } from 'vitepress';
import { h, onMounted, ref, watch } from 'vue';

/** Mermaid is 2.9 MB, so only pages with a diagram load it, as a script of its own. */
let loading;
const loadMermaid = () =>
  (loading ??= new Promise((resolve, reject) => {
    const script = globalThis.document.createElement('script');
    script.src = withBase('/mermaid.js');
    script.onload = () => resolve(globalThis.mermaid);
    script.onerror = () => reject(new Error(`cannot load ${script.src}`));
    globalThis.document.head.append(script);
  }));

const LIGHT = { theme: 'default' };
// The labels of the theme need more contrast.
const DARK = { theme: 'dark', themeVariables: { edgeLabelBackground: '#333' } };

let drawn = 0;
/** Mermaid draws one diagram at a time. */
let queue = Promise.resolve();

async function draw(text, isDark) {
  const mermaid = await loadMermaid();
  mermaid.initialize({ startOnLoad: false, ...(isDark ? DARK : LIGHT) });
  const { svg } = await mermaid.render(`diagram-${drawn++}`, text);
  return svg;
}

/** A diagram in the colours of the page; its text until it is drawn, and without scripts. */
export const Diagram = {
  props: { text: { type: String, required: true } },
  setup(props) {
    const { isDark } = useData();
    const svg = ref('');
    const text = decodeURIComponent(props.text);
    const update = () => {
      queue = queue.then(async () => (svg.value = await draw(text, isDark.value))).catch(console.error);
    };
    onMounted(update);
    watch(isDark, update);
    return () =>
      svg.value
        ? h('div', { class: 'diagram', role: 'img', 'aria-label': 'Diagram', innerHTML: svg.value })
        : h('pre', { class: 'diagram' }, text);
  },
};
