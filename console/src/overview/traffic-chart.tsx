import '@mantine/charts/styles.css';
import { BarChart } from '@mantine/charts';
import { useTranslation } from 'react-i18next';
import { CHART_HEIGHT, SERIES, type LabelledPoint } from './series';

export default function TrafficChart({ points }: { points: LabelledPoint[] }) {
  const { t, i18n } = useTranslation();
  return (
    <BarChart
      h={CHART_HEIGHT}
      type="stacked"
      data={points}
      dataKey="label"
      series={SERIES.map((one) => ({ ...one, label: t(`overview.${one.name}`) }))}
      withLegend
      valueFormatter={(value) => value.toLocaleString(i18n.language)}
      yAxisProps={{ allowDecimals: false }}
      // The chart takes no focus: it is hidden from screen readers, and keyboards reach the table.
      barChartProps={{ accessibilityLayer: false }}
      barProps={{ isAnimationActive: false }}
    />
  );
}
