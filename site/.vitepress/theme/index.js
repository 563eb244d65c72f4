import { useData, withBase } from 'vitepress';
import DefaultTheme from 'vitepress/theme';
import { h } from 'vue';
import { Diagram } from './diagram.js';
import './style.css';

/** The address of the page's Markdown, for people and for programs. */
const MarkdownLink = {
  setup() {
    const { page } = useData();
    return () =>
      h('a', { class: 'markdown-link', href: withBase(`/${page.value.relativePath}`) }, 'Markdown');
  },
};

export default {
  extends: DefaultTheme,
  Layout: () => h(DefaultTheme.Layout, null, { 'doc-footer-before': () => h(MarkdownLink) }),
  enhanceApp: ({ app }) => app.component('Diagram', Diagram),
};
