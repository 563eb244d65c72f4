import { Box, Group, List, Paper, Stack, Text, Title } from '@mantine/core';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';

/** The three steps on the phone, each with a picture. */
export function PairingSteps({ method }: { method: 'qr' | 'code' }) {
  const { t } = useTranslation();
  return (
    <Stack>
      <Title order={2} size="h4">
        {t('pairing.steps.title')}
      </Title>
      <Step picture={<Menu />} text={t('pairing.steps.open')} number={1} />
      <Step picture={<Devices />} text={t('pairing.steps.devices')} number={2} />
      <Step
        picture={method === 'qr' ? <Scan /> : <Typing />}
        text={t(method === 'qr' ? 'pairing.steps.scan' : 'pairing.steps.type')}
        number={3}
      />
      <Paper p="md" withBorder>
        <List size="sm" spacing="xs">
          <List.Item>{t('pairing.hints.devices')}</List.Item>
          <List.Item>{t('pairing.hints.online')}</List.Item>
          <List.Item>{t('pairing.hints.risk')}</List.Item>
        </List>
      </Paper>
    </Stack>
  );
}

function Step({ picture, text, number }: { picture: ReactNode; text: string; number: number }) {
  return (
    <Group wrap="nowrap" align="center">
      <Box component="svg" viewBox="0 0 56 88" w={56} h={88} flex="none" aria-hidden>
        <rect x="2" y="2" width="52" height="84" rx="9" fill="none" stroke="currentColor" strokeWidth="2.5" />
        <path d="M23 8h10" stroke="currentColor" strokeWidth="2.5" strokeLinecap="round" />
        {picture}
      </Box>
      <Text>
        <b>{number}.</b> {text}
      </Text>
    </Group>
  );
}

const MARK = 'var(--mantine-color-anchor)';
const LINE = { stroke: 'currentColor', strokeWidth: 3, strokeLinecap: 'round' as const, opacity: 0.35 };

const Menu = () => (
  <>
    <path d="M12 30h32M12 42h32M12 54h22" {...LINE} />
    {[16, 22, 28].map((y) => (
      <circle key={y} cx="45" cy={y} r="2.4" fill={MARK} />
    ))}
  </>
);

const Devices = () => (
  <>
    <path d="M12 24h32M12 72h32" {...LINE} />
    <rect x="12" y="36" width="32" height="22" rx="3" fill="none" stroke={MARK} strokeWidth="2.5" />
    <path d="M28 42v10M23 47h10" stroke={MARK} strokeWidth="2.5" strokeLinecap="round" />
  </>
);

const Scan = () => (
  <>
    <path
      d="M12 38v-8h8M36 30h8v8M44 54v8h-8M20 62h-8v-8"
      fill="none"
      stroke={MARK}
      strokeWidth="2.5"
      strokeLinecap="round"
    />
    {[
      [19, 37],
      [29, 37],
      [19, 47],
      [31, 49],
    ].map(([x, y]) => (
      <rect key={`${x} ${y}`} x={x} y={y} width="7" height="7" fill="currentColor" opacity="0.5" />
    ))}
  </>
);

const Typing = () => (
  <>
    {[0, 1, 2, 3].map((column) => (
      <rect key={column} x={9 + column * 10} y="36" width="8" height="11" rx="2" fill={MARK} />
    ))}
    <path d="M14 62h28M14 70h28" {...LINE} />
  </>
);
