import { Anchor, Group, Stack, Text, Title } from '@mantine/core';
import { IconChevronLeft } from '@tabler/icons-react';
import { useEffect, type ReactNode } from 'react';
import { Link } from 'react-router';

interface PageHeaderProps {
  title: string;
  subtitle?: ReactNode;
  /** The page above this one. */
  back?: { to: string; label: string };
  /** Buttons of the page. */
  children?: ReactNode;
}

export function PageHeader({ title, subtitle, back, children }: PageHeaderProps) {
  useEffect(() => {
    document.title = `${title} · gwk`;
  }, [title]);
  return (
    <Stack gap={4} mb="lg">
      {back && (
        <Anchor component={Link} to={back.to} size="sm">
          <Group gap={4}>
            <IconChevronLeft size={16} aria-hidden />
            {back.label}
          </Group>
        </Anchor>
      )}
      <Group justify="space-between" align="flex-start">
        <Stack gap={2} maw={700}>
          <Title order={1} size="h2" className="wrap">
            {title}
          </Title>
          {Boolean(subtitle) && <Text c="dimmed">{subtitle}</Text>}
        </Stack>
        {children !== undefined && <Group gap="sm">{children}</Group>}
      </Group>
    </Stack>
  );
}
