/** @returns a Markdown table that ends with a line break */
export function renderTable(columns: readonly string[], rows: readonly (readonly unknown[])[]): string {
  const lines = [columns, columns.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |\n`);
  return lines.join('');
}
